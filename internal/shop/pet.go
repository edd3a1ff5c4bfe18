package shop

import (
	"context"
	"slices"
)

// Status is the availability of an animal. The zero value means that none was ever set.
type Status string

const (
	Available Status = "available"
	Pending   Status = "pending"
	Sold      Status = "sold"
)

// Statuses are all the values that a status can take.
func Statuses() []Status { return []Status{Available, Pending, Sold} }

// StatusProblem says what is wrong with a status that a client sent, or "".
func StatusProblem(s string) string {
	if slices.Contains(Statuses(), Status(s)) {
		return ""
	}
	return "must be one of available, pending, sold"
}

// NewPet is what a client says of an animal; the store adds the id.
type NewPet struct {
	Name       string
	CategoryID int64
	Status     Status
}

// Problems checks the rules of an animal's members.
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

// Pet is an animal in the catalogue, a stock of one.
type Pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     Status `json:"status,omitempty"`
}

// PetFilter narrows a list of animals; what is zero or nil does not. Its parts combine with "and".
type PetFilter struct {
	Status     Status
	CategoryID *int64
	Query      string // the name contains it, letter case ignored
	IDs        []int64
}

// PetList asks for one page of animals, newest first.
type PetList struct {
	PetFilter
	Limit  int
	Before *int64 // only animals with a smaller id
}

// PetPage is one page of animals. More tells whether another page follows it.
type PetPage struct {
	Pets []Pet
	More bool
}

// ListPets returns one page of the catalogue.
func (s *Service) ListPets(ctx context.Context, list PetList) (PetPage, error) {
	list.Limit++ // one more than asked shows whether there is a next page
	pets, err := read(ctx, s.store, func(tx ReadTx) ([]Pet, error) { return tx.Pets(list) })
	if err != nil {
		return PetPage{}, err
	}
	if len(pets) == list.Limit {
		return PetPage{Pets: pets[:len(pets)-1], More: true}, nil
	}
	return PetPage{Pets: pets}, nil
}

// CreatePet adds an animal; a category that nobody has named before comes into being with it.
// It returns validation_failed where a member breaks a rule.
func (s *Service) CreatePet(ctx context.Context, n NewPet) (Pet, error) {
	if err := n.Problems().Err(); err != nil {
		return Pet{}, err
	}
	return write(ctx, s.store, func(tx WriteTx) (Pet, error) {
		if err := tx.EnsureCategory(n.CategoryID); err != nil {
			return Pet{}, err
		}
		return tx.InsertPet(n)
	})
}

// Pet returns one animal, or not_found.
func (s *Service) Pet(ctx context.Context, id int64) (Pet, error) {
	return read(ctx, s.store, func(tx ReadTx) (Pet, error) {
		pet, found, err := tx.Pet(id)
		if err == nil && !found {
			err = Errorf(NotFound, "There is no animal with the id %d.", id)
		}
		return pet, err
	})
}
