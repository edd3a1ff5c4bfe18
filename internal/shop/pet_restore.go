package shop

import (
	"context"
	"encoding/json"
)

// RestorePet brings a removed animal back under its old id, as it was when it was removed. If its category has been
// deleted since, RestorePet creates the category again or, if Options.KnownCategories is set, fails with
// unknown_category. It fails with not_found if the animal never existed or the events about it have expired, and with
// pet_exists if the animal was not removed.
func (s *Service) RestorePet(ctx context.Context, by Caller, id int64) (Pet, error) {
	return write(ctx, s, Writing{By: by, Texts: true}, func(tx *eventTx) (Pet, error) {
		_, exists, err := tx.Pet(id)
		if err != nil {
			return Pet{}, err
		}
		if exists {
			return Pet{}, Errorf(PetExists, "Animal %d exists; only a removed animal can be restored.", id)
		}
		pet, err := removedPet(tx, id)
		if err != nil {
			return Pet{}, err
		}
		if err := s.restoreCategory(tx, pet.CategoryID); err != nil {
			return Pet{}, err
		}
		return pet, tx.RestorePet(pet)
	})
}

// RemovedPet returns a removed animal as it was when it was removed. It fails with not_found if the animal was not
// removed or the events about it have expired.
func (s *Service) RemovedPet(ctx context.Context, id int64) (Pet, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (Pet, error) { return removedPet(tx, id) })
}

func removedPet(tx ReadTx, id int64) (Pet, error) {
	pet, found, err := removedState[Pet](tx, PetDeleted, Pet{ID: id})
	if err == nil && !found {
		err = Errorf(NotFound, "There is no removed animal with the id %d; it never existed, or the events about it have expired.", id)
	}
	return pet, err
}

// restoreCategory creates the category of a restored animal if it does not exist. The category gets back the name
// that it had when it was deleted. The event that contains this name is newer than the removal of the animal, so it
// still exists unless somebody has edited the store by hand.
func (s *Service) restoreCategory(tx *eventTx, id int64) error {
	_, exists, err := tx.Category(id)
	if err != nil || exists {
		return err
	}
	if s.knownCategories {
		return Errorf(UnknownCategory, "The animal's category %d no longer exists; create it again, then restore the animal.", id)
	}
	category, found, err := removedState[Category](tx, CategoryDeleted, Category{ID: id})
	if err != nil {
		return err
	}
	if !found {
		category = Category{ID: id}
	}
	return tx.InsertCategories(category)
}

// removedState returns the state that a resource had when it was removed. The state comes from the newest event about
// the resource. found is false if this event does not report the removal.
func removedState[T resource](tx ReadTx, removal EventType, of T) (state T, found bool, err error) {
	newest, err := tx.NewestEvents(of.subject(), 1)
	if err != nil || len(newest) == 0 || newest[0].Type != removal {
		return state, false, err
	}
	var data struct{ Previous T }
	err = json.Unmarshal(newest[0].Data, &data)
	return data.Previous, true, err
}
