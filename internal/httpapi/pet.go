package httpapi

import (
	"net/url"
	"strconv"

	"animalstore/internal/shop"
)

// maxIDs is how many times GET /pets accepts the id parameter in one request.
const maxIDs = 100

func (a *API) listPets(x *exchange) error {
	page, err := a.pageCache.Get(x.r.Context(), x.principal.ID(), x.r.URL.RawQuery, func(valid *shop.Validity) (response cachedResponse, err error) {
		list, singleID, err := parsePetList(x.r.URL.RawQuery)
		if err != nil {
			return response, err
		}
		page, err := a.Service.ListPets(x.r.Context(), x.caller(), list, valid)
		if err != nil {
			return response, err
		}
		response = encodePage(page)
		if singleID && len(page.Items) == 1 {
			response.tag = page.Items[0].ETag()
		}
		id := func(p shop.Pet) int64 { return p.ID }
		response.first, response.next = pageQueries(petFilterQuery(list.PetFilter), list.PageRequest, page, id)
		return response, nil
	})
	if err != nil {
		return err
	}
	a.setLinks(x, "/pets", page.first, page.next)
	x.sendCached(page)
	return nil
}

// parsePetList parses the query string in a GET /pets request. It also reports whether the query consists
// of a single id parameter. In that case the response has that animal's entity tag.
func parsePetList(rawQuery string) (list shop.PetList, singleID bool, err error) {
	q := parseQuery(rawQuery)
	list.PageRequest = q.pageRequest()
	list.Status = shop.Status(q.checkedText("status", shop.StatusProblem))
	list.CategoryID = q.id("categoryId")
	list.Query = q.checkedText("q", shop.TextProblem)
	list.IDs = q.ids("id", maxIDs)
	return list, len(q.values) == 1 && len(list.IDs) == 1, q.err
}

// petFilterQuery returns the query parameters that parsePetList parses into the given filter.
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

func (a *API) createPet(x *exchange) error {
	n, problems, err := decodeNewPet(x.body)
	if err == nil {
		err = a.checkProblems(x, problems, &n.CategoryID)
	}
	if err != nil {
		return err
	}
	respond := func(pet shop.Pet) shop.StoredResponse {
		body := encodePet(pet)
		return shop.StoredResponse{Status: 201, Location: a.petLocation(x, pet.ID), Tag: shop.EntityTag(body), Body: body}
	}
	pet, err := a.Service.CreatePet(x.r.Context(), callerStoring(x, respond), n)
	if err != nil {
		return err
	}
	x.sendStored(respond(pet))
	return nil
}

// decodeNewPet decodes an animal and returns the problems found in all members.
func decodeNewPet(body []byte) (n shop.NewPet, problems shop.Problems, err error) {
	o, err := parseObject(body)
	if err != nil {
		return n, nil, err
	}
	n = shop.NewPet{Name: o.text("name"), CategoryID: o.integer("categoryId")}
	if o.has("status") {
		n.Status = shop.Status(o.checkedText("status", shop.StatusProblem))
	}
	return n, o.problems, nil
}

// checkProblems fails with validation_failed if there are any problems. In that case it also checks the
// category, so that the client learns about all problems in one response.
func (a *API) checkProblems(x *exchange, problems shop.Problems, categoryID *int64) error {
	if len(problems) > 0 && categoryID != nil {
		more, err := a.Service.CategoryProblems(x.r.Context(), *categoryID)
		if err != nil {
			return err
		}
		problems.Merge(more)
	}
	return problems.Err()
}

func (a *API) getPet(x *exchange) error {
	if a.isRemoved(x) {
		return errOperationRemoved()
	}
	id, err := x.pathID("animal")
	if err != nil {
		return err
	}
	response, err := a.petCache.Get(x.r.Context(), x.principal.ID(), x.params[0], func(valid *shop.Validity) (cachedResponse, error) {
		pet, err := a.Service.Pet(x.r.Context(), id, valid)
		return cachedResponse{tag: pet.ETag(), body: withNewline(encodePet(pet))}, err
	})
	if err != nil {
		return err
	}
	x.sendCached(response)
	return nil
}

func (a *API) updatePet(x *exchange) error {
	change, problems, err := decodePetChange(x.body)
	if err == nil {
		err = a.checkProblems(x, problems, change.CategoryID)
	}
	if err != nil {
		return err
	}
	id, err := x.pathID("animal")
	if err != nil {
		return err
	}
	pet, err := a.Service.UpdatePet(x.r.Context(), x.caller(), id, change, preconditions[shop.Pet](x))
	if err != nil {
		return err
	}
	x.w.Header().Set("ETag", pet.ETag())
	x.sendJSON(200, encodePet(pet))
	return nil
}

// decodePetChange decodes a merge patch. None of an animal's members can be removed, so null is invalid.
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
		change.Status = new(shop.Status(o.checkedText("status", shop.StatusProblem)))
	}
	return change, o.problems, nil
}

func (a *API) deletePet(x *exchange) error {
	id, err := x.pathID("animal")
	if err != nil {
		return err
	}
	if err := a.Service.DeletePet(x.r.Context(), x.caller(), id, preconditions[shop.Pet](x)); err != nil {
		return err
	}
	x.sendNoContent()
	return nil
}

func (a *API) restorePet(x *exchange) error {
	id, err := x.pathID("animal")
	if err != nil {
		return err
	}
	respond := func(pet shop.Pet) shop.StoredResponse {
		body := encodePet(pet)
		return shop.StoredResponse{Status: 200, Tag: shop.EntityTag(body), Body: body}
	}
	pet, err := a.Service.RestorePet(x.r.Context(), callerStoring(x, respond), id)
	if err != nil {
		return err
	}
	x.sendStored(respond(pet))
	return nil
}

// petLocation returns the Location header for a new animal. It refers to the deprecated operation until
// that operation is removed.
func (a *API) petLocation(x *exchange, id int64) string {
	if a.isRemoved(x) {
		return a.basePath + "/pets?id=" + strconv.FormatInt(id, 10)
	}
	return a.basePath + "/pets/" + strconv.FormatInt(id, 10)
}
