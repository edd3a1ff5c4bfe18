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

// maxPageSize is how many things the service puts on one page at most.
const maxPageSize = 100

// positionParam is the parameter of a list that says where a page starts.
type positionParam string

const (
	byCursor positionParam = "cursor"
	byEvent  positionParam = "after" // the feed's pages start after an event
)

// fetchPage gets one page of a list, and the place of the page that follows it, or "".
func fetchPage[T any](ctx context.Context, c *Client, path string, by positionParam, query url.Values) (items []T, next string, err error) {
	got, err := c.get(ctx, path, query, &items)
	if err != nil {
		return nil, "", err
	}
	link, found := nextLink(got.header)
	if !found {
		return items, "", nil
	}
	// Only the place is taken from the link. The request goes where the first one went, so that no answer can send
	// the key elsewhere, and a service that does not know its public address can still be walked.
	if target, err := url.Parse(link); err == nil {
		next = target.Query().Get(string(by))
	}
	if next == "" || next == query.Get(string(by)) {
		return nil, "", got.unexpectedError("its link to the next page leads nowhere")
	}
	return items, next, nil
}

// all walks a list page by page.
func all[T any](ctx context.Context, c *Client, path string, by positionParam, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(query) // the walk can be made again, from the start
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

// pageQuery writes the part of a query that every list has.
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

// nextLink finds the target of the relation "next" in the Link headers.
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

// cutLink cuts a field after the parameters of its first link. A comma in quotes does not end them.
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

// hasRelation tells whether the parameters of a link name a relation; a link can have several.
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
