package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxPageSize is the largest page size that the service accepts.
const maxPageSize = 100

// positionParam is the name of the query parameter that says where a page starts.
type positionParam string

const (
	byCursor positionParam = "cursor"
	byEvent  positionParam = "after" // a page of events starts after the event with this id
)

// fetchPage returns one page of a list and the position of the next page. The position is "" if this is the
// last page.
func fetchPage[T any](ctx context.Context, c *Client, path string, by positionParam, query url.Values) (items []T, next string, err error) {
	got, err := c.get(ctx, path, query, &items)
	if err != nil {
		return nil, "", err
	}
	link, found := nextLink(got.header)
	if !found {
		return items, "", nil
	}
	// Only the position is taken from the link. The next request goes to the base URL, so no response can
	// make the client send the API key elsewhere. Paging also works if the service does not know its public
	// address.
	if target, err := url.Parse(link); err == nil {
		next = target.Query().Get(string(by))
	}
	if next == "" || next == query.Get(string(by)) {
		return nil, "", got.unexpectedError("its link to the next page is not valid")
	}
	return items, next, nil
}

// all iterates over the items on all pages of a list.
func all[T any](ctx context.Context, c *Client, path string, by positionParam, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(query) // a copy, so that the sequence can be iterated more than once
		if !query.Has("limit") {
			query.Set("limit", strconv.Itoa(maxPageSize))
		}
		for {
			items, next, err := fetchPage[T](ctx, c, path, by, query)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			query.Set(string(by), next)
		}
	}
}

// pageQuery returns the query parameters that most lists have in common.
func pageQuery(limit int, cursor string) url.Values {
	query := url.Values{}
	setLimit(query, limit)
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return query
}

func setLimit(query url.Values, limit int) {
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
}

// nextLink returns the target of the link with the relation "next" from the Link headers.
func nextLink(header http.Header) (target string, found bool) {
	for _, field := range header.Values("Link") {
		for field != "" {
			var params string
			_, field, _ = strings.Cut(field, "<")
			target, field, _ = strings.Cut(field, ">")
			params, field = cutLink(field)
			if hasRelation(params, "next") {
				return target, true
			}
		}
	}
	return "", false
}

// cutLink splits a Link header after the parameters of its first link. A comma inside quotes does not end the
// parameters.
func cutLink(field string) (params, rest string) {
	quoted := false
	for i, r := range field {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ',' && !quoted:
			return field[:i], field[i+1:]
		}
	}
	return field, ""
}

// hasRelation reports whether the parameters of a link contain the given relation.
func hasRelation(params, relation string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for rel := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(rel, relation) {
				return true
			}
		}
	}
	return false
}
