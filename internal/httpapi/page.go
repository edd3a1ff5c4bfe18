package httpapi

import (
	"net/url"
	"strconv"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// The default and the maximum value of the limit parameter, which is the number of items on one page of a
// list.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// pageRequest returns the page that the limit and cursor parameters select.
func (q *query) pageRequest() shop.PageRequest {
	return shop.PageRequest{Limit: int(q.integer("limit", 1, maxLimit, defaultLimit)), After: q.cursor()}
}

// setPageLinks sets the Link header, which links to the first page and, unless this is the last page, to
// the next page. The query holds the list's filters. The id function returns an item's position in the
// list.
func setPageLinks[T any](
	a *API, x *exchange, path string, query url.Values, request shop.PageRequest, page shop.Page[T], id func(T) int64,
) {
	first, next := pageQueries(query, request, page, id)
	a.setLinks(x, path, first, next)
}

// pageQueries returns the query strings for the first page of a list and for the next page. If this is the
// last page, next is "".
func pageQueries[T any](query url.Values, request shop.PageRequest, page shop.Page[T], id func(T) int64) (first, next string) {
	query.Set("limit", strconv.Itoa(request.Limit))
	first = query.Encode()
	if page.More {
		query.Set("cursor", web.FormatCursor(page.Next(id)))
		next = query.Encode()
	}
	return first, next
}

// setLinks sets the Link header from the query strings for the first page and the next page. If this is
// the last page, next is "".
func (a *API) setLinks(x *exchange, path, first, next string) {
	list := "<" + a.baseURL(x.r) + path + "?"
	links := list + first + `>; rel="first"`
	if next != "" {
		links = list + next + `>; rel="next", ` + links
	}
	x.w.Header()["Link"] = []string{links}
}

// pageTag returns the entity tag for a page. The tag depends on whether more pages follow and on where a search has
// stopped, because the Link header depends on both.
func pageTag(body []byte, more bool, stopped *int64) string {
	body = strconv.AppendBool(body, more) // this may change what follows the body, but not the body itself
	if stopped != nil {
		body = strconv.AppendInt(body, *stopped, 10)
	}
	return shop.EntityTag(body)
}

// encodePage encodes the items on a page. The links are not part of the result.
func encodePage[T any](page shop.Page[T]) cachedResponse {
	body := encode(page.Items)
	return cachedResponse{tag: pageTag(body, page.More, page.Stopped), body: withNewline(body)}
}

func sendPage[T any](x *exchange, page shop.Page[T]) { x.sendCached(encodePage(page)) }
