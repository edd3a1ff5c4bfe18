package cli

import (
	"context"

	"animalstore/client"
)

// nameTable holds the names of resources by their ids, which tables show next to the ids.
type nameTable map[int64]string

// label returns an id, followed by the name if it is known.
func (n nameTable) label(id int64) string {
	if name := n[id]; name != "" {
		return formatInt(id) + " (" + name + ")"
	}
	return formatInt(id)
}

// maxCategoryNames bounds how many categories a command reads to show their names. A shop has fewer.
const maxCategoryNames = 1000

// categoryNames returns the names of the store's first categories. If they cannot be read, the table is incomplete, which only
// costs the names.
func categoryNames(ctx context.Context, c *client.Client) nameTable {
	names := nameTable{}
	for category, err := range c.Categories(ctx) {
		if err != nil || len(names) == maxCategoryNames {
			break
		}
		names[category.ID] = category.Name
	}
	return names
}

// addPets adds the names of the animals in the orders, as far as the key may read animals and they still exist.
func (n nameTable) addPets(ctx context.Context, c *client.Client, orders ...client.Order) {
	var ids []int64
	for _, order := range orders {
		ids = append(ids, order.PetID)
	}
	if len(ids) == 0 {
		return
	}
	pets, _, err := c.ListPets(ctx, client.PetQuery{IDs: ids, Limit: maxPageSize})
	if err != nil {
		return
	}
	for _, pet := range pets {
		n[pet.ID] = pet.Name
	}
}
