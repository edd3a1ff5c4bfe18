package sqlstore

import (
	"database/sql"
	"fmt"
	"strings"

	"animalstore/internal/shop"
)

const petColumns = "id, name, category_id, status"

func scanPet(scan scanner) (shop.Pet, error) {
	var pet shop.Pet
	var status sql.Null[shop.Status]
	err := scan(&pet.ID, &pet.Name, &pet.CategoryID, &status)
	pet.Status = status.V
	return pet, err
}

func (t *tx) Pet(id int64) (shop.Pet, bool, error) {
	return one(t, scanPet, "SELECT "+petColumns+" FROM pets WHERE id = $1", id)
}

func (t *tx) Pets(list shop.PetList) ([]shop.Pet, error) {
	query, args := petsQuery(list)
	return all(t, scanPet, query, args...)
}

// petsQuery writes the query of a list. Only the filters that are set stand in it, so that the planner finds the index
// that is made for them.
func petsQuery(list shop.PetList) (query string, args []any) {
	var conditions []string
	arg := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	if list.Status != "" {
		conditions = append(conditions, "status = "+arg(list.Status))
	}
	if list.CategoryID != nil {
		conditions = append(conditions, "category_id = "+arg(*list.CategoryID))
	}
	if list.Query != "" {
		conditions = append(conditions, "instr(name_folded, "+arg(shop.Fold(list.Query))+") > 0")
	}
	if len(list.IDs) > 0 {
		places := make([]string, len(list.IDs))
		for i, id := range list.IDs {
			places[i] = arg(id)
		}
		conditions = append(conditions, "id IN ("+strings.Join(places, ", ")+")")
	}
	if list.Before != nil {
		conditions = append(conditions, "id < "+arg(*list.Before))
	}
	query = "SELECT " + petColumns + " FROM pets"
	if len(conditions) > 0 {
		query += " WHERE " + strings.Join(conditions, " AND ")
	}
	return query + " ORDER BY id DESC LIMIT " + arg(list.Limit), args
}

func (t *tx) HasPets() (bool, error) {
	_, found, err := one(t, scanValue[int64], "SELECT id FROM pets LIMIT 1")
	return found, err
}

func (t *tx) InsertPet(n shop.NewPet) (shop.Pet, error) {
	pet, _, err := one(t, scanPet,
		"INSERT INTO pets (name, name_folded, category_id, status) VALUES ($1, $2, $3, $4) RETURNING "+petColumns,
		n.Name, shop.Fold(n.Name), n.CategoryID, nullable(n.Status))
	return pet, err
}
