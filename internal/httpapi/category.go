package httpapi

import (
	"fmt"
	"net/url"

	"animalstore/internal/shop"
)

func (a *API) listCategories(x *exchange) error {
	q := parseQuery(x.r.URL.RawQuery)
	request := q.pageRequest()
	if q.err != nil {
		return q.err
	}
	page, err := a.Service.ListCategories(x.r.Context(), request)
	if err != nil {
		return err
	}
	setPageLinks(a, x, "/categories", url.Values{}, request, page, func(c shop.Category) int64 { return c.ID })
	sendPage(x, page)
	return nil
}

func (a *API) createCategory(x *exchange) error {
	name, err := decodeCategoryName(x.body)
	if err != nil {
		return err
	}
	respond := func(category shop.Category) shop.StoredResponse {
		location := fmt.Sprintf("%s/categories/%d", a.basePath, category.ID)
		return shop.StoredResponse{Status: 201, Location: location, Tag: resourceTag(category), Body: encode(category)}
	}
	category, err := a.Service.CreateCategory(x.r.Context(), callerStoring(x, respond), name)
	if err != nil {
		return err
	}
	x.sendStored(respond(category))
	return nil
}

func decodeCategoryName(body []byte) (string, error) {
	o, err := parseObject(body)
	if err != nil {
		return "", err
	}
	name := o.text("name")
	return name, o.problems.Err()
}

func (a *API) getCategory(x *exchange) error {
	id, err := x.pathID("category")
	if err != nil {
		return err
	}
	category, err := a.Service.Category(x.r.Context(), id)
	if err != nil {
		return err
	}
	body := encode(category)
	x.sendResource(shop.EntityTag(body), body)
	return nil
}

func (a *API) putCategory(x *exchange) error {
	name, err := decodeCategoryName(x.body)
	if err != nil {
		return err
	}
	id, err := x.pathID("category")
	if err != nil {
		return err
	}
	category := shop.Category{ID: id, Name: name}
	created, err := a.Service.PutCategory(x.r.Context(), x.caller(), category, shop.PutCondition{
		Match: ifMatch[shop.Category](x), NoneMatch: ifNoneMatch[shop.Category](x),
	})
	if err != nil {
		return err
	}
	status := 200
	if created {
		status = 201
		x.w.Header().Set("Location", fmt.Sprintf("%s/categories/%d", a.basePath, id))
	}
	x.w.Header().Set("ETag", resourceTag(category))
	x.sendJSON(status, encode(category))
	return nil
}

func (a *API) deleteCategory(x *exchange) error {
	id, err := x.pathID("category")
	if err != nil {
		return err
	}
	if err := a.Service.DeleteCategory(x.r.Context(), x.caller(), id, preconditions[shop.Category](x)); err != nil {
		return err
	}
	x.sendNoContent()
	return nil
}
