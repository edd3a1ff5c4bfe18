package httpapi

import (
	"fmt"
	"net/url"
	"strconv"

	"animalstore/internal/shop"
)

// maxIDs is how many animals one list may ask for by their ids.
const maxIDs = 100

func (a *API) listPets(c *call) error {
	list, alone, err := parsePetList(c.r.URL.RawQuery)
	if err != nil {
		return err
	}
	page, err := a.Service.ListPets(c.r.Context(), list)
	if err != nil {
		return err
	}
	body := encode(page.Pets)
	tag := entityTag(body, fmt.Append(nil, page.More)) // a page that has become the last is another page
	var last int64
	if n := len(page.Pets); n > 0 {
		last = page.Pets[n-1].ID
		if alone {
			tag = petTag(page.Pets[0])
		}
	}
	c.w.Header().Set("Link", pageLinks(a.base(c.r)+"/pets", petListQuery(list), page.More, last))
	c.sendTagged("private, no-cache", "application/json", tag, line(body))
	return nil
}

// parsePetList reads what list is asked for. It is alone where one id was asked for and nothing else: the answer is
// then that of one animal.
func parsePetList(rawQuery string) (list shop.PetList, alone bool, err error) {
	q := parseQuery(rawQuery)
	list.Limit = q.limit()
	list.Status = q.status()
	list.CategoryID = q.id("categoryId")
	list.Query = q.text("q")
	list.IDs = q.ids("id", maxIDs)
	list.Before = q.cursor()
	return list, len(q.values) == 1 && len(list.IDs) == 1, q.err
}

// petListQuery writes a list as the query that asks for it, without its cursor.
func petListQuery(list shop.PetList) url.Values {
	query := url.Values{"limit": {strconv.Itoa(list.Limit)}}
	if list.Status != "" {
		query.Set("status", string(list.Status))
	}
	if list.CategoryID != nil {
		query.Set("categoryId", strconv.FormatInt(*list.CategoryID, 10))
	}
	if list.Query != "" {
		query.Set("q", list.Query)
	}
	for _, id := range list.IDs {
		query.Add("id", strconv.FormatInt(id, 10))
	}
	return query
}

func (a *API) createPet(c *call) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	n, err := decodeNewPet(body)
	if err != nil {
		return err
	}
	pet, err := a.Service.CreatePet(c.r.Context(), n)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", a.petLocation(pet.ID))
	c.w.Header().Set("ETag", petTag(pet))
	c.sendJSON(201, encode(pet))
	return nil
}

// decodeNewPet reads an animal and names every member that is wrong, by its type or by the rules of the shop.
func decodeNewPet(body []byte) (shop.NewPet, error) {
	o, err := parseObject(body)
	if err != nil {
		return shop.NewPet{}, err
	}
	n := shop.NewPet{Name: o.text("name"), CategoryID: o.integer("categoryId"), Status: o.status("status")}
	o.problems.Merge(n.Problems())
	return n, o.problems.Err()
}

func (a *API) getPet(c *call) error {
	if a.removed() {
		return errRemoved()
	}
	id, ok := parseInt64(c.params[0])
	if !ok {
		return shop.Errorf(shop.NotFound, "There is no animal with this id; an id is an integer of 64 bits.")
	}
	pet, err := a.Service.Pet(c.r.Context(), id)
	if err != nil {
		return err
	}
	c.sendTagged("private, no-cache", "application/json", petTag(pet), line(encode(pet)))
	return nil
}

// petLocation is where an animal can be fetched: by the deprecated operation as long as there is one.
func (a *API) petLocation(id int64) string {
	if a.removed() {
		return fmt.Sprintf("%s/pets?id=%d", a.basePath(), id)
	}
	return fmt.Sprintf("%s/pets/%d", a.basePath(), id)
}

// petTag is the entity tag of one animal, the same wherever it is answered alone.
func petTag(pet shop.Pet) string { return entityTag(encode(pet)) }
