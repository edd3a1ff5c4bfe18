package client

import (
	"context"
	"iter"
	"net/http"
)

// Category groups animals. A category that was created implicitly, together with an animal, has no name until
// [Client.PutCategory] sets one.
type Category struct {
	ID   int64  `json:"id"`
	Name string `json:"name,omitempty"`
	// ETag identifies the current state of the category for use with [IfMatch]. It is empty in lists.
	ETag string `json:"-"`
}

func (c Category) withETag(got apiResponse) Category {
	c.ETag = got.header.Get("ETag")
	return c
}

type categoryName struct {
	Name string `json:"name"`
}

// Categories iterates over all categories in ascending order of their ids. The first error is yielded and
// ends the iteration.
func (c *Client) Categories(ctx context.Context) iter.Seq2[Category, error] {
	return all[Category](ctx, c, "/categories", byCursor, pageQuery(0, ""))
}

// CreateCategory creates a category with this name and returns it with its new id.
func (c *Client) CreateCategory(ctx context.Context, name string, options ...PostOption) (category Category, err error) {
	got, err := c.post(ctx, "/categories", categoryName{name}, options, &category)
	return category.withETag(got), err
}

// GetCategory returns the category with this id. It fails with [CodeNotFound] if there is none.
func (c *Client) GetCategory(ctx context.Context, id int64) (category Category, err error) {
	got, err := c.get(ctx, pathOf("/categories", id), nil, &category)
	return category.withETag(got), err
}

// PutCategory sets the name of a category and creates the category if it does not exist. With [IfAbsent], it only
// creates a category. With [IfMatch], it only renames one. The return value created reports whether the category was
// created. After a retry, created may be false even though an earlier attempt, whose response was lost, created the
// category.
func (c *Client) PutCategory(ctx context.Context, id int64, name string, conditions ...Condition) (category Category, created bool, err error) {
	r := request{method: http.MethodPut, path: pathOf("/categories", id), body: categoryName{name}}
	got, err := c.do(ctx, r.withConditions(conditions), &category)
	return category.withETag(got), got.status == http.StatusCreated, err
}

// DeleteCategory deletes a category. It fails with [CodeNotFound] if the category does not exist and with
// [CodeCategoryInUse] if it still contains animals.
func (c *Client) DeleteCategory(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/categories", id)}, nil)
	return err
}
