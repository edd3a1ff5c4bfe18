package httpapi

import (
	"net/url"
	"strconv"

	"animalstore/internal/shop"
)

// How many things one page of a list holds.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// setPageLinks sets the Link header of a page: the next page of the same list where there is one, and the first. The query is
// that of the list without its window; id gives the position of an item.
func setPageLinks[T any](a *API, x *exchange, path string, query url.Values, w shop.PageRequest, page shop.Page[T], id func(T) int64) {
	first, next := pageQueries(query, w, page, id)
	a.setLinks(x, path, first, next)
}

// pageQueries are those of the first page of a list and of the one after this; next is "" for the last.
func pageQueries[T any](query url.Values, w shop.PageRequest, page shop.Page[T], id func(T) int64) (first, next string) {
	query.Set("limit", strconv.Itoa(w.Limit))
	first = query.Encode()
	if page.More {
		query.Set("cursor", formatCursor(id(page.Items[len(page.Items)-1])))
		next = query.Encode()
	}
	return first, next
}

// setLinks sets the Link header of a page; next is "" for the last.
func (a *API) setLinks(x *exchange, path string, first, next string) {
	address := a.baseURL(x.r) + path
	links := "<" + address + "?" + first + `>; rel="first"`
	if next != "" {
		links = "<" + address + "?" + next + `>; rel="next", ` + links
	}
	x.w.Header().Set("Link", links)
}

// pageTag is the entity tag of a page. A page that has become the last one is another page.
func pageTag(body []byte, more bool) string { return entityTag(body, strconv.AppendBool(nil, more)) }

// encodePage makes a page ready to be sent, but for its links.
func encodePage[T any](page shop.Page[T]) cachedResponse {
	body := encode(page.Items)
	return cachedResponse{tag: pageTag(body, page.More), body: withNewline(body)}
}

// sendPage writes a page that a client may keep.
func sendPage[T any](x *exchange, page shop.Page[T]) { x.sendCached(encodePage(page)) }
