package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// query reads the parameters of a request. It keeps the first error; what is asked after that is zero.
type query struct {
	values url.Values
	err    error
}

func parseQuery(raw string) *query {
	values, err := url.ParseQuery(raw)
	q := &query{values: values}
	if err != nil {
		q.err = shop.Errorf(shop.InvalidParameter, "The query cannot be read; separate its parameters by & and escape what is not plain with %%XX.")
	}
	return q
}

func (q *query) fail(name, format string, args ...any) {
	if q.err == nil {
		q.err = shop.Errorf(shop.InvalidParameter, "The parameter %s %s.", name, fmt.Sprintf(format, args...))
	}
}

// single returns a parameter that may be given at most once, and whether it was.
func (q *query) single(name string) (string, bool) {
	values := q.values[name]
	if len(values) > 1 {
		q.fail(name, "was given %d times; give it once", len(values))
	}
	if len(values) == 0 || q.err != nil {
		return "", false
	}
	return values[0], true
}

// integer returns an integer from low to high, or preset where none was given.
func (q *query) integer(name string, low, high, preset int64) int64 {
	text, given := q.single(name)
	if !given {
		return preset
	}
	n, ok := parseInt64(text)
	if !ok || n < low || n > high {
		q.fail(name, "must be an integer from %d to %d", low, high)
	}
	return n
}

// pageRequest returns the part of a list that is asked for.
func (q *query) pageRequest() shop.PageRequest {
	return shop.PageRequest{Limit: int(q.integer("limit", 1, maxLimit, defaultLimit)), After: q.cursor()}
}

// id returns an identifier, or nil where none was given.
func (q *query) id(name string) *int64 {
	text, given := q.single(name)
	if !given {
		return nil
	}
	return q.parseID(name, text)
}

// ids returns the identifiers of a parameter that may be given up to most times.
func (q *query) ids(name string, most int) []int64 {
	if n := len(q.values[name]); n > most {
		q.fail(name, "was given %d times; give it at most %d times", n, most)
		return nil
	}
	var ids []int64
	for _, text := range q.values[name] {
		if id := q.parseID(name, text); id != nil {
			ids = append(ids, *id)
		}
	}
	return ids
}

func (q *query) parseID(name, text string) *int64 {
	n, ok := parseInt64(text)
	if !ok {
		q.fail(name, "must be an integer of 64 bits")
		return nil
	}
	return &n
}

// checkedText returns a text in which problem finds nothing wrong, or "" where none was given.
func (q *query) checkedText(name string, problem func(string) string) string {
	text, given := q.single(name)
	if !given {
		return ""
	}
	if reason := problem(text); reason != "" {
		q.fail(name, "%s", reason)
	}
	return text
}

// boolean returns true or false, which it is where neither was given.
func (q *query) boolean(name string) bool {
	text, given := q.single(name)
	if given && text != "true" && text != "false" {
		q.fail(name, "must be true or false")
	}
	return text == "true"
}

// cursor returns the position to go on from, or nil where none was given.
func (q *query) cursor() *int64 {
	text, given := q.single("cursor")
	if !given {
		return nil
	}
	position, err := parseCursor(text)
	if err != nil {
		q.err = err
		return nil
	}
	return &position
}

// parseInt64 reads an integer written in plain digits.
func parseInt64(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && !strings.HasPrefix(text, "+")
}
