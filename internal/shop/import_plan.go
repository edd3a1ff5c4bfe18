package shop

import (
	"fmt"
	"slices"
	"strings"
)

// importPlan describes what an import is going to do. It is made from the rows and the contents of the store.
type importPlan struct {
	invalid    []int       // the indices of the invalid rows
	reported   []ImportRow // the first invalid rows
	creates    []plannedPet
	updates    []plannedPet
	unchanged  []plannedPet
	categories *importCategories
	stored     petsInStore
}

// plannedPet is an animal to create, or to update if before has an id. Its category may not exist yet.
type plannedPet struct {
	NewPet
	line     int // the line number of the row that describes the animal
	category *importCategory
	before   Pet
	profile  *ProfileRow // what changes in the profile, or nil if nothing does
}

// planImport checks every row against the store. A plan must be applied in the transaction in which it was made,
// because otherwise an animal could change after its entity tag was compared. The plan contains at most the given
// number of invalid rows, so that a file with many of them needs no more memory than a valid one.
func (s *Service) planImport(tx ReadTx, rows []ImportRow, most int) (plan importPlan, err error) {
	if plan.stored, err = storedPets(tx, idsOf(rows)); err != nil {
		return importPlan{}, err
	}
	if plan.categories, err = s.importCategories(tx, rows, plan.stored.pets); err != nil {
		return importPlan{}, err
	}
	profiles, err := checkProfiles(tx, rows)
	if err != nil {
		return importPlan{}, err
	}
	lines := map[int64]int{} // the line on which each animal occurs first
	for i, row := range rows {
		row.Problems = slices.Clone(row.Problems) // cloned because the transaction may run again with the same rows
		if !row.unreadable() {
			planned := plannedPet{NewPet: row.NewPet, line: row.Line, profile: row.Profile}
			if row.ID != nil {
				if first := lines[*row.ID]; first > 0 {
					row.Problems.Add("id", fmt.Sprintf("is the same as in line %d; keep one of the two rows", first))
				} else {
					lines[*row.ID] = row.Line
					planned.before = plan.stored.check(&row)
				}
				check := profiles[*row.ID]
				if row.Problems.Merge(check.problems); !check.changes {
					planned.profile = nil
				}
			} else {
				row.checkNoETag("etag", row.ETag)
				row.checkNoETag("profileEtag", row.ProfileETag)
			}
			if row.ProfileOnly {
				planned.NewPet = planned.before.Fields()
				planned.category = &importCategory{Category: Category{ID: planned.before.CategoryID}, exists: true}
			} else {
				planned.category = plan.categories.find(&row, planned.before)
			}
			plan.add(planned, row)
		}
		if len(row.Problems) == 0 {
			continue
		}
		if plan.invalid = append(plan.invalid, i); len(plan.reported) < most {
			plan.reported = append(plan.reported, row)
		}
	}
	return plan, nil
}

func (r *ImportRow) checkNoETag(member, tag string) {
	if tag != "" {
		r.Problems.Add(member, "is given without an id; remove it to create an animal")
	}
}

// add adds an animal to the plan if its row is valid.
func (p *importPlan) add(planned plannedPet, row ImportRow) {
	switch {
	case len(row.Problems) > 0:
	case row.ID == nil:
		p.creates = append(p.creates, planned)
	case planned.changesPet() || planned.profile != nil:
		p.updates = append(p.updates, planned)
	default:
		p.unchanged = append(p.unchanged, planned)
	}
}

// after returns the animal as it will be after the import. Its CategoryID is 0 if its category has not been
// assigned an id yet.
func (p plannedPet) after() Pet {
	p.CategoryID = p.category.ID
	return p.WithID(p.before.ID)
}

// changesPet reports whether the import changes the animal itself.
func (p plannedPet) changesPet() bool { return p.category.assign || p.after() != p.before }

func (p importPlan) result(ignoredIDs int) ImportResult {
	return ImportResult{Created: len(p.creates), Updated: len(p.updates), IgnoredIDs: ignoredIDs}
}

// apply creates the missing categories, updates and creates the animals, and then writes their profiles.
func (p importPlan) apply(tx *eventTx) error {
	if err := p.categories.create(tx); err != nil {
		return err
	}
	updates, creates := make([]PetUpdate, 0, len(p.updates)), make([]NewPet, len(p.creates))
	for _, planned := range p.updates {
		if planned.changesPet() {
			updates = append(updates, PetUpdate{Before: planned.before, After: planned.after()})
		}
	}
	for i, planned := range p.creates {
		creates[i] = planned.after().Fields()
	}
	if len(updates) > 0 {
		if err := tx.UpdatePets(updates...); err != nil {
			return err
		}
	}
	var created []Pet
	if len(creates) > 0 {
		var err error
		if created, err = tx.InsertPets(creates...); err != nil {
			return err
		}
	}
	return p.applyProfiles(tx, created)
}

// petsInStore contains the animals that an import updates, and the open orders for them.
type petsInStore struct {
	pets   map[int64]Pet
	orders map[int64]Order
}

func storedPets(tx ReadTx, ids []int64) (petsInStore, error) {
	found := petsInStore{map[int64]Pet{}, map[int64]Order{}}
	if len(ids) == 0 {
		return found, nil
	}
	pets, err := tx.PetsByID(ids)
	if err != nil {
		return found, err
	}
	for _, pet := range pets {
		found.pets[pet.ID] = pet
	}
	orders, err := tx.OpenOrders(ids)
	for _, order := range orders {
		found.orders[order.PetID] = order
	}
	return found, err
}

// check returns the animal that a row updates. If the row must not update it, check adds the reason to the row.
func (s petsInStore) check(row *ImportRow) Pet {
	pet, found := s.pets[*row.ID]
	switch {
	case !found:
		row.Problems.Add("id", "must be the id of an existing animal, or empty to create one")
	case row.ProfileOnly:
	case row.ETag == "":
		row.Problems.Add("etag", "is required to update an animal; export the animals to get it")
	case strings.Trim(row.ETag, `"`) != strings.Trim(pet.ETag(), `"`):
		row.Problems.Add("etag", fmt.Sprintf(outOfDate+", because animal %d has changed since; export it again", pet.ID))
	case row.Status != pet.Status:
		if reason := s.statusProblem(pet, row.Status); reason != "" {
			row.Problems.Add("status", reason)
		}
	}
	return pet
}

// statusProblem explains why the status of an animal cannot change to the given one. It returns "" if it can.
func (s petsInStore) statusProblem(pet Pet, to Status) string {
	if to == "" {
		return fmt.Sprintf("cannot be removed; animal %d is %s", pet.ID, pet.Status)
	}
	if allowed := petTransitions[pet.Status]; !slices.Contains(allowed, to) {
		return fmt.Sprintf("cannot change from %s to %s; %s", pet.Status, to, allowedStatuses(allowed))
	}
	if order, held := s.orders[pet.ID]; held {
		return fmt.Sprintf("cannot change while order %d holds animal %d", order.ID, pet.ID)
	}
	return ""
}
