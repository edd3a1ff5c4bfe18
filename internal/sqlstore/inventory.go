package sqlstore

import "animalstore/internal/shop"

func (t *tx) Inventory() (shop.Inventory, error) {
	type count struct {
		status shop.Status
		n      int64
	}
	counts, err := all(t, func(scan Scanner) (c count, err error) {
		err = scan(&c.status, &c.n)
		return c, err
	}, t.dialect.inventory)
	var inventory shop.Inventory
	for _, c := range counts {
		switch c.status {
		case shop.Available:
			inventory.Available = c.n
		case shop.Pending:
			inventory.Pending = c.n
		case shop.Sold:
			inventory.Sold = c.n
		default:
			inventory.Unspecified = c.n
		}
	}
	return inventory, err
}

// addInventory adds change to the number of pets with a status and marks the catalogue as changed.
func (t *tx) addInventory(status shop.Status, change int) error {
	t.catalog = true
	return t.rowWriter().addInventory(status, change)
}
