package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"animalstore/internal/shop"
)

// maxIDs is how many animals one list may ask for by their ids.
const maxIDs = 100

func (a *API) listPets(c *call) error {
	page, err := a.pages.get(c.r.Context(), c.r.URL.RawQuery, func() (ready, error) {
		return a.makePetPage(c.r.Context(), c.r.URL.RawQuery)
	})
	if err != nil {
		return err
	}
	a.link(c, "/pets", page.first, page.next)
	c.sendReady(page)
	return nil
}

func (a *API) makePetPage(ctx context.Context, rawQuery string) (ready, error) {
	list, alone, err := parsePetList(rawQuery)
	if err != nil {
		return ready{}, err
	}
	page, err := a.Service.ListPets(ctx, list)
	if err != nil {
		return ready{}, err
	}
	made := readyPage(page)
	if alone && len(page.Items) == 1 {
		made.tag = petTag(page.Items[0])
	}
	made.first, made.next = pageQueries(petFilterQuery(list.PetFilter), list.PageRequest, page, func(p shop.Pet) int64 { return p.ID })
	return made, nil
}

// parsePetList reads what list is asked for. It is alone where one id was asked for and nothing else: the answer is
// then that of one animal.
func parsePetList(rawQuery string) (list shop.PetList, alone bool, err error) {
	q := parseQuery(rawQuery)
	list.PageRequest = q.window()
	list.Status = shop.Status(q.oneOf("status", shop.StatusProblem))
	list.CategoryID = q.id("categoryId")
	list.Query = q.oneOf("q", shop.TextProblem)
	list.IDs = q.ids("id", maxIDs)
	return list, len(q.values) == 1 && len(list.IDs) == 1, q.err
}

// petFilterQuery writes a filter as the query that asks for it.
func petFilterQuery(f shop.PetFilter) url.Values {
	query := url.Values{}
	if f.Status != "" {
		query.Set("status", string(f.Status))
	}
	if f.CategoryID != nil {
		query.Set("categoryId", strconv.FormatInt(*f.CategoryID, 10))
	}
	if f.Query != "" {
		query.Set("q", f.Query)
	}
	for _, id := range f.IDs {
		query.Add("id", strconv.FormatInt(id, 10))
	}
	return query
}

func (a *API) createPet(c *call) error {
	n, problems, err := decodeNewPet(c.body)
	if err == nil {
		err = a.refuse(c, problems, &n.CategoryID)
	}
	if err != nil {
		return err
	}
	return once(c, func(ctx context.Context) (shop.Pet, error) { return a.Service.CreatePet(ctx, n) },
		func(pet shop.Pet) shop.StoredResponse {
			body := encodePet(pet)
			return shop.StoredResponse{Status: 201, Location: a.petLocation(c, pet.ID), Tag: entityTag(body), Body: body}
		})
}

// decodeNewPet reads an animal and names every member that is wrong, by its type or by the rules of the shop.
func decodeNewPet(body []byte) (n shop.NewPet, problems shop.Problems, err error) {
	o, err := parseObject(body)
	if err != nil {
		return n, nil, err
	}
	n = shop.NewPet{Name: o.text("name"), CategoryID: o.integer("categoryId")}
	if o.has("status") {
		n.Status = shop.Status(o.oneOf("status", shop.StatusProblem))
	}
	return n, o.problems, nil
}

// refuse returns validation_failed where there are problems, and names that of the category with them.
func (a *API) refuse(c *call, problems shop.Problems, categoryID *int64) error {
	if len(problems) > 0 && categoryID != nil {
		more, err := a.Service.CategoryProblems(c.r.Context(), *categoryID)
		if err != nil {
			return err
		}
		problems.Merge(more)
	}
	return problems.Err()
}

func (a *API) getPet(c *call) error {
	if a.removed(c) {
		return errRemoved()
	}
	id, err := c.idOf("animal")
	if err != nil {
		return err
	}
	answer, err := a.pets.get(c.r.Context(), c.params[0], func() (ready, error) {
		pet, err := a.Service.Pet(c.r.Context(), id)
		return ready{tag: petTag(pet), body: line(encodePet(pet))}, err
	})
	if err != nil {
		return err
	}
	c.sendReady(answer)
	return nil
}

func (a *API) updatePet(c *call) error {
	change, problems, err := decodePetChange(c.body)
	if err == nil {
		err = a.refuse(c, problems, change.CategoryID)
	}
	if err != nil {
		return err
	}
	id, err := c.idOf("animal")
	if err != nil {
		return err
	}
	pet, err := a.Service.UpdatePet(c.context(), id, change, ifMatch[shop.Pet](c))
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", petTag(pet))
	c.sendJSON(200, encodePet(pet))
	return nil
}

// decodePetChange reads a merge patch. No member of an animal can be taken away, so null is wrong for each.
func decodePetChange(body []byte) (change shop.PetChange, problems shop.Problems, err error) {
	o, err := parseObject(body)
	if err != nil {
		return change, nil, err
	}
	if o.has("name") {
		change.Name = new(o.text("name"))
	}
	if o.has("categoryId") {
		change.CategoryID = new(o.integer("categoryId"))
	}
	if o.has("status") {
		change.Status = new(shop.Status(o.oneOf("status", shop.StatusProblem)))
	}
	return change, o.problems, nil
}

func (a *API) deletePet(c *call) error {
	id, err := c.idOf("animal")
	if err != nil {
		return err
	}
	if err := a.Service.DeletePet(c.context(), id, ifMatch[shop.Pet](c)); err != nil {
		return err
	}
	c.sendNothing()
	return nil
}

// petLocation is where an animal can be fetched: by the deprecated operation as long as there is one.
func (a *API) petLocation(c *call, id int64) string {
	if a.removed(c) {
		return fmt.Sprintf("%s/pets?id=%d", a.basePath, id)
	}
	return fmt.Sprintf("%s/pets/%d", a.basePath, id)
}

// petTag is the entity tag of one animal, the same wherever it is answered alone.
func petTag(pet shop.Pet) string { return entityTag(encodePet(pet)) }

func appendPets(body []byte, pets []shop.Pet) []byte {
	body = append(slices.Grow(body, 100*len(pets)+2), '[')
	for i, pet := range pets {
		if i > 0 {
			body = append(body, ',')
		}
		body = pet.AppendJSON(body)
	}
	return append(body, ']')
}
