package sqlstore

import "animalstore/internal/shop"

// SQLiteInventory is the query for the number of pets with each status in SQLite.
const SQLiteInventory = "SELECT status, n FROM inventory"

// PostgresInventory is the query for the number of pets with each status in PostgreSQL. It includes the changes that
// have not been added to the inventory table yet.
var PostgresInventory = "SELECT status, CAST(sum(n) AS BIGINT) FROM (SELECT status, n FROM inventory" +
	" UNION ALL SELECT status, n FROM " + waitingRows("inventory_changes") + ") AS notes GROUP BY status"

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
