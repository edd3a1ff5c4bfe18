package sqlstore

import (
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

func (t *tx) PetsUpTo(last int64, w shop.PageRequest) ([]shop.Pet, error) {
	var c conditions
	c.add("id <= %s", last)
	query, args := c.page("SELECT "+petColumns+" FROM pets", w, "id > %s", "id")
	return engine.AllUpTo(t.Tx, w.Limit, scanPets(), query, args...)
}
