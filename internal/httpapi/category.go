package httpapi

import (
	"context"
	"fmt"
	"net/url"

	"animalstore/internal/shop"
)

func (a *API) listCategories(c *call) error {
	q := parseQuery(c.r.URL.RawQuery)
	window := q.window()
	if q.err != nil {
		return q.err
	}
	page, err := a.Service.ListCategories(c.r.Context(), window)
	if err != nil {
		return err
	}
	linkPage(a, c, "/categories", url.Values{}, window, page, func(c shop.Category) int64 { return c.ID })
	sendPage(c, page)
	return nil
}

func (a *API) createCategory(c *call) error {
	name, err := decodeCategoryName(c.body)
	if err != nil {
		return err
	}
	return once(c, func(ctx context.Context) (shop.Category, error) { return a.Service.CreateCategory(ctx, name) },
		func(category shop.Category) shop.StoredResponse {
			location := fmt.Sprintf("%s/categories/%d", a.basePath, category.ID)
			return shop.StoredResponse{Status: 201, Location: location, Body: encode(category)}
		})
}

func decodeCategoryName(body []byte) (string, error) {
	o, err := parseObject(body)
	if err != nil {
		return "", err
	}
	name := o.text("name")
	return name, o.problems.Err()
}

func (a *API) getCategory(c *call) error {
	id, err := c.idOf("category")
	if err != nil {
		return err
	}
	category, err := a.Service.Category(c.r.Context(), id)
	if err != nil {
		return err
	}
	body := encode(category)
	c.sendKept(entityTag(body), body)
	return nil
}

func (a *API) putCategory(c *call) error {
	name, err := decodeCategoryName(c.body)
	if err != nil {
		return err
	}
	id, err := c.idOf("category")
	if err != nil {
		return err
	}
	category := shop.Category{ID: id, Name: name}
	created, err := a.Service.PutCategory(c.context(), category, ifMatch[shop.Category](c))
	if err != nil {
		return err
	}
	status := 200
	if created {
		status = 201
		c.w.Header().Set("Location", fmt.Sprintf("%s/categories/%d", a.basePath, id))
	}
	c.sendJSON(status, encode(category))
	return nil
}

func (a *API) deleteCategory(c *call) error {
	id, err := c.idOf("category")
	if err != nil {
		return err
	}
	if err := a.Service.DeleteCategory(c.context(), id, ifMatch[shop.Category](c)); err != nil {
		return err
	}
	c.sendNothing()
	return nil
}
