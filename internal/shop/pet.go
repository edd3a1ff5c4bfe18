package shop

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// Status is the availability of an animal. The zero value means that no status was ever set.
type Status string

const (
	Available Status = "available"
	Pending   Status = "pending"
	Sold      Status = "sold"
)

// Statuses returns every status that can be set for an animal.
func Statuses() []Status { return []Status{Available, Pending, Sold} }

// StatusProblem explains why a status sent by a client is invalid. It returns "" if the status is valid.
func StatusProblem(s string) string {
	if slices.Contains(Statuses(), Status(s)) {
		return ""
	}
	return "must be one of available, pending, sold"
}

// NewPet contains the fields of an animal that a client can set. It has no id.
type NewPet struct {
	Name       string
	CategoryID int64
	Status     Status
}

// Problems validates the fields of an animal.
func (n NewPet) Problems() Problems {
	var p Problems
	if reason := TextProblem(n.Name); reason != "" {
		p.Add("name", reason)
	}
	if n.Status != "" {
		if reason := StatusProblem(string(n.Status)); reason != "" {
			p.Add("status", reason)
		}
	}
	return p
}

// Pet is one animal in the catalogue.
type Pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     Status `json:"status,omitempty"`
}

// WithID returns an animal with these fields and the given id.
func (n NewPet) WithID(id int64) Pet { return Pet{id, n.Name, n.CategoryID, n.Status} }

// Fields returns the fields that a client can set, which are all fields except the id.
func (p Pet) Fields() NewPet { return NewPet{p.Name, p.CategoryID, p.Status} }

// AppendJSON appends the animal to text as JSON. It does not use encoding/json, which takes six times as long and
// would account for a tenth of the time for a list request.
func (p Pet) AppendJSON(text []byte) []byte {
	text = strconv.AppendInt(append(text, `{"id":`...), p.ID, 10)
	text = appendQuoted(append(text, `,"name":`...), p.Name)
	text = strconv.AppendInt(append(text, `,"categoryId":`...), p.CategoryID, 10)
	if p.Status != "" {
		text = appendQuoted(append(text, `,"status":`...), string(p.Status))
	}
	return append(text, '}')
}

// PetFilter selects the animals that match all of its fields. Fields with their zero value match every
// animal.
type PetFilter struct {
	Status     Status
	NoStatus   bool // selects animals whose status was never set
	CategoryID *int64
	Query      string // selects animals whose name contains every word of this text; see ContainsWords
	IDs        []int64
}

// PetList selects one page of the animals that match a filter, newest first. If OldestFirst is set, the oldest
// animals come first, except in a search, which always returns the newest first.
type PetList struct {
	PetFilter
	PageRequest
	OldestFirst bool
}

// ListPets returns one page of the catalogue, newest first. If valid is not nil, ListPets sets it to the time for which
// the page remains correct.
func (s *Service) ListPets(ctx context.Context, by Caller, list PetList, valid *Validity) (Page[Pet], error) {
	var state CatalogState
	heavy := list.isHeavy() // unlike a search, a short list needs only one query
	r := Reading{By: by, Heavy: heavy, SingleQuery: !heavy, State: &state, Version: valid != nil}
	page, err := readCurrent(ctx, s, r, list.read)
	valid.set(state)
	return page, err
}

// read returns the page. With a search text, the work for one page is bounded, so the page may have fewer items than the
// limit, or none, even if more pages follow.
func (l PetList) read(tx ReadTx) (Page[Pet], error) {
	if l.Query != "" {
		return tx.SearchPets(l)
	}
	pets, err := tx.Pets(PetList{l.PetFilter, l.oneMore(), l.OldestFirst})
	return pageOf(l.Limit, pets, err)
}

// Pet returns the animal with the given id. It fails with not_found if there is none. If valid is not nil, Pet sets it
// to the time for which the animal remains correct.
func (s *Service) Pet(ctx context.Context, id int64, valid *Validity) (Pet, error) {
	var state CatalogState
	r := Reading{SingleQuery: true, State: &state, Version: valid != nil}
	pet, err := readCurrent(ctx, s, r, func(tx ReadTx) (Pet, error) { return existingPet(tx, id) })
	valid.set(state)
	return pet, err
}

func existingPet(tx ReadTx, id int64) (Pet, error) {
	pet, found, err := tx.Pet(id)
	if err == nil && !found {
		err = errNoPet(id)
	}
	return pet, err
}

func errNoPet(id int64) error {
	return Errorf(NotFound, "There is no animal with the id %d; list the animals to find an existing one.", id)
}

// CreatePet adds an animal. If the animal's category does not exist, CreatePet creates the category or, if
// Options.KnownCategories is set, fails with validation_failed. It also fails with validation_failed if a
// field is invalid.
func (s *Service) CreatePet(ctx context.Context, by Caller, n NewPet) (Pet, error) {
	if err := n.Problems().Err(); err != nil {
		return Pet{}, err
	}
	rows := &WriteSet{Categories: []int64{n.CategoryID}}
	return write(ctx, s, Writing{By: by, Rows: rows, Texts: true}, func(tx *eventTx) (Pet, error) {
		if err := s.ensureCategory(tx, n.CategoryID); err != nil {
			return Pet{}, err
		}
		pets, err := tx.InsertPets(n)
		if err != nil {
			return Pet{}, err
		}
		return pets[0], nil
	})
}

// PetChange is a partial update of an animal. Fields that are nil are not changed.
type PetChange struct {
	Name       *string
	CategoryID *int64
	Status     *Status
}

// apply returns a copy of the animal with the change applied.
func (c PetChange) apply(pet Pet) Pet {
	if c.Name != nil {
		pet.Name = *c.Name
	}
	if c.CategoryID != nil {
		pet.CategoryID = *c.CategoryID
	}
	if c.Status != nil {
		pet.Status = *c.Status
	}
	return pet
}

// petTransitions maps each status of an animal to the statuses that a client can change it to directly.
// Setting the same status again is always allowed. A status cannot be removed once it is set.
var petTransitions = map[Status][]Status{
	"":        {Available, Pending, Sold},
	Available: {Pending, Sold},
	Pending:   {Available, Sold},
	Sold:      {Available}, // a sold animal can be returned to the shop
}

// Transitions returns the statuses that a client can give to an animal that has the status s and is not held
// by an order.
func (s Status) Transitions() []Status { return slices.Clone(petTransitions[s]) }

// UpdatePet changes an animal. It fails with not_found, precondition_failed, validation_failed or
// invalid_transition. It fails with pet_has_open_order if the change affects the status while an order holds
// the animal.
func (s *Service) UpdatePet(ctx context.Context, by Caller, id int64, change PetChange, match Precondition[Pet]) (Pet, error) {
	return write(ctx, s, Writing{By: by, Texts: change.Name != nil}, func(tx *eventTx) (Pet, error) {
		if err := expireDueHold(tx, id); err != nil {
			return Pet{}, err
		}
		before, err := existingPet(tx, id)
		if err != nil {
			return Pet{}, err
		}
		if err := match.check(before); err != nil {
			return Pet{}, err
		}
		pet := change.apply(before)
		if err := pet.Fields().Problems().Err(); err != nil {
			return Pet{}, err
		}
		if pet.Status != before.Status {
			if err := checkTransition(tx, before, pet.Status); err != nil {
				return Pet{}, err
			}
		}
		if pet.CategoryID != before.CategoryID {
			if err := s.ensureCategory(tx, pet.CategoryID); err != nil {
				return Pet{}, err
			}
		}
		if pet == before {
			return pet, nil
		}
		return pet, tx.UpdatePet(before, pet)
	})
}

func checkTransition(tx ReadTx, pet Pet, to Status) error {
	if !slices.Contains(petTransitions[pet.Status], to) {
		return Errorf(InvalidTransition, "An animal that is %s cannot become %s; %s.", pet.Status, to, allowedStatuses(petTransitions[pet.Status]))
	}
	return checkNotHeld(tx, pet)
}

// DeletePet removes an animal but keeps its orders. It fails with not_found, precondition_failed or
// pet_has_open_order.
func (s *Service) DeletePet(ctx context.Context, by Caller, id int64, match Precondition[Pet]) error {
	err := s.writeOnly(ctx, Writing{By: by, Texts: true}, func(tx *eventTx) error { return deletePet(tx, id, match) })
	s.photoRemovals.Add(1)
	return err
}

func deletePet(tx *eventTx, id int64, match Precondition[Pet]) error {
	if err := expireDueHold(tx, id); err != nil {
		return err
	}
	pet, err := existingPet(tx, id)
	if err != nil {
		return err
	}
	if err := match.check(pet); err != nil {
		return err
	}
	if err := checkNotHeld(tx, pet); err != nil {
		return err
	}
	return tx.DeletePet(pet)
}

// UndoCreatePet removes an animal that was just added. It fails with not_found if there is no such animal, and with
// precondition_failed if anything has happened to it since, also if that was undone, or if its profile is not empty.
func (s *Service) UndoCreatePet(ctx context.Context, by Caller, id int64) error {
	return s.writeOnly(ctx, Writing{By: by, Texts: true}, func(tx *eventTx) error {
		profile, err := existingProfile(tx, id)
		if err != nil {
			return err
		}
		newest, err := tx.NewestEvents(profile.Pet.subject(), 1)
		if err != nil {
			return err
		}
		isNew := len(newest) == 1 && newest[0].Type == PetCreated && profile.UpdatedAt.IsZero()
		return deletePet(tx, id, func(Pet) bool { return isNew })
	})
}

// PetUpdate is a change to an animal. Before must be the animal as it is stored.
type PetUpdate struct {
	Before, After Pet
	// SaleAt is the time of the sale that the update makes or takes back. It is zero if a sale happens now, or if the
	// update takes back no sale.
	SaleAt time.Time
}

// created returns the event for a new animal. It avoids the slower JSON encoder, because this event is by far
// the most frequent one.
func (p Pet) created(actor string) NewEvent {
	data := p.AppendJSON(append(make([]byte, 0, 192), `{"current":`...))
	return NewEvent{Type: PetCreated, Subject: p.subject(), Actor: actor, Data: append(data, `,"previous":null}`...)}
}

// PetReader contains the methods of ReadTx that read animals.
type PetReader interface {
	// Pet returns the animal with the given id and whether it exists.
	Pet(id int64) (Pet, bool, error)
	// StatusChanges returns how often the status of an animal has changed since the animal was added or restored.
	StatusChanges(id int64) (int64, error)
	// Pets returns at most list.Limit animals, sorted by descending id, or by ascending id if
	// list.OldestFirst is set. It ignores list.Query.
	Pets(list PetList) ([]Pet, error)
	// PetsUpTo returns at most page.Limit animals whose id is not larger than last, sorted by ascending
	// id.
	PetsUpTo(last int64, page PageRequest) ([]Pet, error)
	// PetsByID returns the animals with the given ids in no particular order. It skips unknown ids.
	PetsByID(ids []int64) ([]Pet, error)
	// HasPets reports whether there are any animals.
	HasPets() (bool, error)
	// Inventory returns the exact number of animals with each status.
	Inventory() (Inventory, error)
	// LargestCategories returns the exact number of animals in the n categories that have the most animals, largest
	// first.
	LargestCategories(n int) ([]CategoryCount, error)
	// CountCategories returns the exact number of animals in the categories with the given ids, in no
	// particular order. It leaves out categories without animals.
	CountCategories(ids []int64) ([]CategoryCount, error)
	// PeriodStats returns the number of arrivals and sales in each StatsPeriod that has any and begins at since or
	// later, oldest first.
	PeriodStats(since time.Time) ([]PeriodStats, error)
	// WaitingCounts returns the number of changes to the counts that FoldCounts can add to the stored counts, or limit
	// if there are more.
	WaitingCounts(limit int) (int, error)
}

// PetBookkeeping contains the methods of Bookkeeping that maintain the counts of animals.
type PetBookkeeping interface {
	// FoldCounts adds a limited number of waiting changes to the stored counts. This changes no result of the methods
	// that read the counts.
	FoldCounts() error
}

// PetMutations contains the methods of Mutations that change animals.
type PetMutations interface {
	// InsertPets adds animals, whose categories must exist. The new ids ascend in the order of the
	// arguments and are larger than every id assigned before.
	InsertPets(...NewPet) ([]Pet, error)
	// UpdatePets replaces animals. No animal may be given more than once.
	UpdatePets(...PetUpdate) error
	// DeletePet removes an animal. The argument must be the animal as it is stored.
	DeletePet(Pet) error
	// RestorePet adds a removed animal again under its old id. Its category must exist.
	RestorePet(Pet) error
}
