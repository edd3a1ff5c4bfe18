package httpapi

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"

	"animalstore/internal/shop"
)

// How many things one page of a list holds.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// linkPage sets the Link header of a page: the next page of the same list where there is one, and the first. The query is
// that of the list without its window; id gives the position of an item.
func linkPage[T any](a *API, c *call, path string, query url.Values, w shop.Window, page shop.Page[T], id func(T) int64) {
	query.Set("limit", strconv.Itoa(w.Limit))
	var next url.Values
	if page.More {
		next = maps.Clone(query)
		next.Set("cursor", formatCursor(id(page.Items[len(page.Items)-1])))
	}
	a.link(c, path, query, next)
}

// link sets the Link header of a page; next is nil for the last.
func (a *API) link(c *call, path string, first, next url.Values) {
	address := a.base(c.r) + path
	links := fmt.Sprintf(`<%s?%s>; rel="first"`, address, first.Encode())
	if next != nil {
		links = fmt.Sprintf(`<%s?%s>; rel="next", %s`, address, next.Encode(), links)
	}
	c.w.Header().Set("Link", links)
}

// pageTag is the entity tag of a page. A page that has become the last one is another page.
func pageTag(body []byte, more bool) string { return entityTag(body, strconv.AppendBool(nil, more)) }

// sendPage writes a page that a client may keep.
func sendPage[T any](c *call, page shop.Page[T]) {
	body := encode(page.Items)
	c.sendKept(pageTag(body, page.More), body)
}
