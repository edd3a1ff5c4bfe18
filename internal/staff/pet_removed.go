package staff

import (
	"encoding/json"
	"net/http"
	"time"

	"animalstore/internal/shop"
)

// maxRemovedPets is the maximum number of removals on the page of removed animals.
const maxRemovedPets = 100

// removedPetRow is an animal that was removed and has not been restored since.
type removedPetRow struct {
	shop.Pet
	At    time.Time
	Actor string
}

// removedPets shows the most recently removed animals, so that they can be restored.
func (p *Pages) removedPets(x *exchange) error {
	filter := shop.EventFilter{Types: []shop.EventType{shop.PetDeleted}, Newest: true}
	events, err := p.Service.ListEvents(x.r.Context(), x.caller(), filter, shop.PageRequest{Limit: maxRemovedPets})
	if err != nil {
		return err
	}
	var actors []string
	var ids []int64
	var removals []removedPetRow
	seen := map[int64]bool{} // animals that exist or are already in the list
	for _, event := range events.Items {
		var data struct{ Previous shop.Pet }
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return err
		}
		actors, ids = append(actors, event.Actor), append(ids, data.Previous.ID)
		removals = append(removals, removedPetRow{data.Previous, event.Time, event.Actor})
	}
	if len(ids) > 0 {
		existing, err := p.Service.ListPets(x.r.Context(), x.caller(), shop.PetList{PetFilter: shop.PetFilter{IDs: ids}, PageRequest: shop.PageRequest{Limit: len(ids)}}, nil)
		if err != nil {
			return err
		}
		for _, pet := range existing.Items {
			seen[pet.ID] = true
		}
	}
	names, err := p.Service.KeyNames(x.r.Context(), actors)
	if err != nil {
		return err
	}
	var rows []removedPetRow
	for _, row := range removals {
		if !seen[row.ID] {
			seen[row.ID] = true
			row.Actor = actorName(row.Actor, names)
			rows = append(rows, row)
		}
	}
	return x.show(http.StatusOK, "pets-removed", "Removed animals", rows)
}
