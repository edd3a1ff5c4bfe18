package client

import (
	"context"
	"iter"
	"net/http"
)

// Category groups animals. A category that was created implicitly with an animal has no name until it is
// given one.
type Category struct {
	ID   int64  `json:"id"`
	Name string `json:"name,omitempty"`
}

type categoryName struct {
	Name string `json:"name"`
}

// Categories iterates over all categories by ascending id. It ends with the first error.
func (c *Client) Categories(ctx context.Context) iter.Seq2[Category, error] {
	return all[Category](ctx, c, "/categories", byCursor, pageQuery(0, ""))
}

// CreateCategory creates a category and returns it with its id.
func (c *Client) CreateCategory(ctx context.Context, name string, options ...PostOption) (category Category, err error) {
	_, err = c.post(ctx, "/categories", categoryName{name}, options, &category)
	return category, err
}

// GetCategory returns one category, or fails with [CodeNotFound].
func (c *Client) GetCategory(ctx context.Context, id int64) (category Category, err error) {
	_, err = c.get(ctx, pathOf("/categories", id), nil, &category)
	return category, err
}

// PutCategory names a category, and creates it if it does not exist; created reports which. After a retry,
// created may be false although an earlier attempt, whose response was lost, created the category.
func (c *Client) PutCategory(ctx context.Context, id int64, name string) (category Category, created bool, err error) {
	r := request{method: http.MethodPut, path: pathOf("/categories", id), body: categoryName{name}}
	got, err := c.do(ctx, r, &category)
	return category, got.status == http.StatusCreated, err
}

// DeleteCategory deletes a category. It fails with [CodeNotFound], and with [CodeCategoryInUse] while animals
// are in it.
func (c *Client) DeleteCategory(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/categories", id)}, nil)
	return err
}
