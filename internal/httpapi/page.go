package httpapi

import (
	"net/url"
	"strconv"

	"animalstore/internal/shop"
)

// The number of items on one page of a list: the default and the maximum of the parameter limit.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// setPageLinks sets the Link header of a page, to the first page of the list and to the next one, if any.
// The query holds the list's filters; id returns an item's position in the list.
func setPageLinks[T any](
	a *API, x *exchange, path string, query url.Values, request shop.PageRequest, page shop.Page[T], id func(T) int64,
) {
	first, next := pageQueries(query, request, page, id)
	a.setLinks(x, path, first, next)
}

// pageQueries returns the queries of a list's first page and of the page after this one, which is "" if
// this is the last.
func pageQueries[T any](query url.Values, request shop.PageRequest, page shop.Page[T], id func(T) int64) (first, next string) {
	query.Set("limit", strconv.Itoa(request.Limit))
	first = query.Encode()
	if page.More {
		query.Set("cursor", formatCursor(id(page.Items[len(page.Items)-1])))
		next = query.Encode()
	}
	return first, next
}

// setLinks sets the Link header from the queries of the first and the next page; next is "" on the last page.
func (a *API) setLinks(x *exchange, path, first, next string) {
	url := a.baseURL(x.r) + path
	links := "<" + url + "?" + first + `>; rel="first"`
	if next != "" {
		links = "<" + url + "?" + next + `>; rel="next", ` + links
	}
	x.w.Header().Set("Link", links)
}

// pageTag returns the entity tag of a page. It changes when the page becomes or ceases to be the last,
// because the Link header changes then.
func pageTag(body []byte, more bool) string { return entityTag(body, strconv.AppendBool(nil, more)) }

// encodePage encodes a page, without its links.
func encodePage[T any](page shop.Page[T]) cachedResponse {
	body := encode(page.Items)
	return cachedResponse{tag: pageTag(body, page.More), body: withNewline(body)}
}

func sendPage[T any](x *exchange, page shop.Page[T]) { x.sendCached(encodePage(page)) }
