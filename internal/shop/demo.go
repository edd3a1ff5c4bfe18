package shop

import "context"

// FillDemo fills an empty store with sample animals and returns how many; a store that has animals stays as it is.
func (s *Service) FillDemo(ctx context.Context) (int, error) {
	return write(ctx, s, func(tx *ledger) (int, error) {
		if has, err := tx.HasPets(); err != nil || has {
			return 0, err
		}
		for i, name := range demoCategories() {
			category := Category{int64(i) + 1, name}
			_, found, err := tx.Category(category.ID)
			if err == nil && !found {
				err = tx.InsertCategory(category)
			}
			if err != nil {
				return 0, err
			}
		}
		for _, pet := range demoPets() {
			if _, err := tx.InsertPet(pet); err != nil {
				return 0, err
			}
		}
		return len(demoPets()), nil
	})
}

// demoCategories are those of a small shop, from 1 on.
func demoCategories() []string {
	return []string{"Dogs", "Cats", "Rabbits", "Birds", "Reptiles", "Fish"}
}

// demoPets are its animals. They come in one by one, so the order mixes them; some have just arrived and carry no status yet.
func demoPets() []NewPet {
	return []NewPet{
		{"Bella", 1, Sold}, {"Simba", 2, Sold}, {"Coco", 4, Sold}, {"Rocky", 1, Sold}, {"Nemo", 6, Sold},
		{"Luna", 2, Available}, {"Flocke", 3, Sold}, {"Max", 1, Available}, {"Rio", 4, Available}, {"Dory", 6, Available},
		{"Čenda", 3, Available}, {"Milo", 2, Pending}, {"Daisy", 1, Available}, {"Kaa", 5, Available}, {"Ñoño", 1, Available},
		{"Puck", 4, Available}, {"Ōji", 2, Available}, {"Hazel", 3, Pending}, {"Bruce", 6, Available}, {"Zorro", 1, Pending},
		{"Chloé", 2, Available}, {"Fiver", 3, Available}, {"Rango", 5, Available}, {"Tweety", 4, Pending}, {"Buddy", 1, Available},
		{"Søren", 2, Available}, {"Жужа", 1, Available}, {"Bubbles", 6, Available}, {"Clover", 3, Available}, {"Iggy", 5, Pending},
		{"小白", 2, Available}, {"Lola", 1, Available}, {"Kiwi", 4, Available}, {"Oreo", 3, Available}, {"Shelly", 5, Available},
		{"Gill", 6, Available}, {"Oskar", 1, Available}, {"Minka", 2, Available}, {"Momo", 3, ""}, {"Peach", 6, ""},
		{"Rex", 1, ""}, {"Felix", 2, ""},
	}
}
