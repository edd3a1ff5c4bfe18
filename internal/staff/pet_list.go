package staff

import (
	"net/http"
	"strconv"

	"animalstore/internal/shop"
)

// petRow is the template data for an animal in a list.
type petRow struct {
	shop.PetView
	Today shop.Date
}

// petRows adds what the rows of a list need to several animals.
func (x *exchange) petRows(pets []shop.PetView) []petRow {
	rows, today := make([]petRow, len(pets)), x.Service.Today()
	for i, pet := range pets {
		rows[i] = petRow{pet, today}
	}
	return rows
}

// Facts returns the breed and the age of the animal, as far as they are known.
func (r petRow) Facts() string {
	breed, age := breeds(r.Profile), age(r.Profile, r.Today)
	switch {
	case age == "":
		return breed
	case breed == "":
		return capitalized(age)
	}
	return breed + " · " + age
}

// Cover returns the first photo of the animal, or nil.
func (r petRow) Cover() *shop.Photo {
	if len(r.Profile.Photos) == 0 {
		return nil
	}
	return &r.Profile.Photos[0]
}

// petsPage is the template data for the catalogue.
type petsPage struct {
	Query      petQuery
	Rows       []petRow
	NextURL    string // the path of the next page, or "" if this is the last one
	Newest     int64  // the id of the newest animal on the first page
	NotFirst   bool   // whether this is not the first page
	Counts     *petCounts
	Categories categoryOptions
	Add        petForm
}

// Chips returns the filters that are active.
func (p petsPage) Chips() []petChip { return p.Query.chips(p.Categories.Name(p.Query.Category)) }

func (p *Pages) pets(x *exchange) error {
	query, filter, err := x.petQuery()
	if err != nil {
		return err
	}
	list := shop.ProfileList{ProfileFilter: filter, PageRequest: x.petRequest(), Order: query.Order}
	pets, err := p.Service.ListPetViews(x.r.Context(), x.caller(), list)
	if err != nil {
		return err
	}
	page := petsPage{Query: query, Rows: x.petRows(pets.Items), NotFirst: list.After != nil}
	if pets.More {
		page.NextURL = query.Next(nextPosition(pets))
	}
	if len(pets.Items) > 0 && list.After == nil {
		page.Newest = pets.Items[0].ID
	}
	if x.partial() && list.After != nil { // htmx appends these rows to the current page
		return x.showFragment("pet-rows", page)
	}
	if page.Categories, err = x.categoryOptions(query.Category); err != nil {
		return err
	}
	page.Add.Categories = page.Categories
	if page.Counts, err = x.petCounts(filter); err != nil {
		return err
	}
	return x.show(http.StatusOK, "pets", "Animals", page)
}

// nextPosition returns the position after which the next page begins. The page must not be the last one.
func nextPosition(page shop.Page[shop.PetView]) petPosition {
	if page.Stopped != nil {
		return petPosition{page.StoppedKey, *page.Stopped}
	}
	last := page.Items[len(page.Items)-1]
	return petPosition{last.Key, last.ID}
}

// newPets responds with the animals that are newer than the newest one on the page.
func (p *Pages) newPets(x *exchange) error {
	query, filter, err := x.petQuery()
	if err != nil {
		return err
	}
	pets, err := p.Service.ListPetViews(x.r.Context(), x.caller(), shop.ProfileList{ProfileFilter: filter, PageRequest: shop.PageRequest{Limit: pageSize}})
	if err != nil {
		return err
	}
	newest, _ := strconv.ParseInt(x.r.URL.Query().Get("newest"), 10, 64) // 0 if the page showed no animals
	page := petsPage{Query: query, Newest: newest}
	for _, pet := range x.petRows(pets.Items) {
		if pet.ID > newest {
			page.Rows = append(page.Rows, pet)
			page.Newest = max(page.Newest, pet.ID)
		}
	}
	// If there are too many new animals, the list would have a gap. The page then shows a link instead.
	stopped := pets.Stopped != nil && newest > 0 && *pets.Stopped > newest
	if len(page.Rows) == pageSize && pets.More || stopped {
		page.Rows, page.NotFirst = nil, true
	}
	return x.showFragment("new-pets", page)
}
