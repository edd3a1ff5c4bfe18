package shop

import "context"

// ExportPets gives all animals to a function, oldest first, some at a time, until it returns an error. What is added
// meanwhile is left out. No transaction is open while the function works; an animal that stands unchanged throughout
// comes exactly once.
func (s *Service) ExportPets(ctx context.Context, give func([]Pet) error) error {
	newest, err := s.ListPets(ctx, PetList{PageRequest: PageRequest{Limit: 1}})
	if err != nil || len(newest.Items) == 0 {
		return err
	}
	last := newest.Items[0].ID
	w := PageRequest{Limit: exportPage}
	for {
		pets, err := readCurrent(ctx, s, func(tx ReadTx) ([]Pet, error) { return tx.PetsUpTo(last, w) })
		if err != nil || len(pets) == 0 {
			return err
		}
		if err := give(pets); err != nil {
			return err
		}
		if len(pets) < w.Limit {
			return nil
		}
		w.After = &pets[len(pets)-1].ID
	}
}

// exportPage is how many animals are read at a time.
const exportPage = 1000
