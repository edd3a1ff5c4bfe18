package window

import (
	"net/url"
	"strconv"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// query is what the parameters of a request ask for.
type query struct {
	shop.WindowFilter
	after *int64
	embed bool // whether the page is shown in a frame of another site
}

// parseQuery parses a query string. It ignores unknown parameters, such as those that campaigns add. It fails with
// invalid_parameter or invalid_cursor.
func parseQuery(raw string) (q query, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, shop.Errorf(shop.InvalidParameter, "The part of the address after the question mark cannot be read.")
	}
	for name, list := range values {
		if most := limits[name]; most > 0 && len(list) > most {
			return q, shop.Errorf(shop.InvalidParameter, "The parameter %s may be given %d times at most.", name, most)
		}
	}
	if text := values.Get("category"); values.Has("category") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return q, shop.Errorf(shop.InvalidParameter, "The parameter category must be the number of a category.")
		}
		q.CategoryID = &id
	}
	check := func(name string, problem func(string) string) {
		for _, text := range values[name] {
			if reason := problem(text); reason != "" && err == nil {
				err = shop.Errorf(shop.InvalidParameter, "The parameter %s %s.", name, reason)
			}
		}
	}
	check("sex", shop.SexProblem)
	check("size", shop.SizeProblem)
	check("tag", shop.TagProblem)
	if err != nil {
		return q, err
	}
	q.Sex, q.Size, q.Tags = shop.Sex(values.Get("sex")), shop.Size(values.Get("size")), values["tag"]
	if values.Has("cursor") {
		position, err := web.ParseCursor(values.Get("cursor"))
		if err != nil {
			return q, shop.Errorf(shop.InvalidCursor, "The cursor is invalid; follow the link to the next page instead.")
		}
		q.after = &position
	}
	q.embed = values.Get("embed") == "1"
	return q, nil
}

// limits says how often a parameter may be given.
var limits = map[string]int{"category": 1, "sex": 1, "size": 1, "tag": shop.MaxTags, "cursor": 1, "embed": 1}

// encode returns the query string of the page, with a question mark. Queries that ask for the same have the same text.
func (q query) encode() string {
	values := url.Values{}
	if q.CategoryID != nil {
		values.Set("category", strconv.FormatInt(*q.CategoryID, 10))
	}
	if q.Sex != "" {
		values.Set("sex", string(q.Sex))
	}
	if q.Size != "" {
		values.Set("size", string(q.Size))
	}
	for _, tag := range q.Tags {
		values.Add("tag", tag)
	}
	if q.after != nil {
		values.Set("cursor", web.FormatCursor(*q.after))
	}
	if q.embed {
		values.Set("embed", "1")
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// with returns the query of the first page with a change.
func (q query) with(change func(*query)) query {
	q.after = nil
	change(&q)
	return q
}

// isFiltered reports whether the query selects some of the animals.
func (q query) isFiltered() bool {
	return q.CategoryID != nil || q.Sex != "" || q.Size != "" || len(q.Tags) > 0
}

// page returns the page that the query asks for.
func (q query) page(limit int) shop.PageRequest {
	return shop.PageRequest{Limit: limit, After: q.after}
}

// next returns the query of the next page, or "" on the last one.
func (q query) next(page shop.Page[shop.WindowPet]) string {
	if !page.More {
		return ""
	}
	q.after = new(page.Next(func(p shop.WindowPet) int64 { return p.Pet.ID }))
	return q.encode()
}
