package cli

import (
	"context"

	"animalstore/client"
)

// nameTable maps the ids of resources to their names. Tables show the names next to the ids.
type nameTable map[int64]string

// label returns an id, followed by the name if it is known.
func (n nameTable) label(id int64) string {
	if name := n[id]; name != "" {
		return formatInt(id) + " (" + name + ")"
	}
	return formatInt(id)
}

// maxCategoryNames is the maximum number of categories whose names a command reads. A typical shop has fewer.
const maxCategoryNames = 1000

// categoryNames returns the names of the first maxCategoryNames categories. It ignores errors: if a name is missing,
// the command shows only the id.
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

// addPets adds the names of the animals in the orders. It ignores animals that no longer exist. It adds nothing if
// the animals cannot be read, for example because the key lacks the scope.
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
