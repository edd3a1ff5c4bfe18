package client

import (
	"context"
	"iter"
	"net/http"
)

// Category is what animals are grouped by. One that an animal brought into being has no name until it is given one.
type Category struct {
	ID   int64  `json:"id"`
	Name string `json:"name,omitempty"`
}

type categoryName struct {
	Name string `json:"name"`
}

// Categories walks all the categories by ascending id. It ends with the first error.
func (c *Client) Categories(ctx context.Context) iter.Seq2[Category, error] {
	return all[Category](ctx, c, "/categories", byCursor, pageQuery(0, ""))
}

// CreateCategory adds a category and returns it with its id.
func (c *Client) CreateCategory(ctx context.Context, name string, options ...PostOption) (category Category, err error) {
	_, err = c.post(ctx, "/categories", categoryName{name}, options, &category)
	return category, err
}

// GetCategory gets one category, or fails with [CodeNotFound].
func (c *Client) GetCategory(ctx context.Context, id int64) (category Category, err error) {
	_, err = c.get(ctx, pathOf("/categories", id), nil, &category)
	return category, err
}

// PutCategory gives a category its name, and adds it where there was none; created tells which. Where an answer was
// lost and the call repeated itself, created may be false although the first attempt added the category.
func (c *Client) PutCategory(ctx context.Context, id int64, name string) (category Category, created bool, err error) {
	r := request{method: http.MethodPut, path: pathOf("/categories", id), body: categoryName{name}}
	got, err := c.do(ctx, r, &category)
	return category, got.status == http.StatusCreated, err
}

// DeleteCategory removes a category. It fails with [CodeNotFound], and with [CodeCategoryInUse] while animals name it.
func (c *Client) DeleteCategory(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/categories", id)}, nil)
	return err
}
