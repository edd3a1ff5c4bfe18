package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// query parses the query parameters of a request. It remembers the first error; later methods return zero
// values.
type query struct {
	values url.Values
	err    error
}

func parseQuery(raw string) *query {
	values, err := url.ParseQuery(raw)
	q := &query{values: values}
	if err != nil {
		q.err = shop.Errorf(shop.InvalidParameter,
			"The query is malformed; separate parameters with & and percent-encode special characters.")
	}
	return q
}

func (q *query) fail(name, format string, args ...any) {
	if q.err == nil {
		q.err = shop.Errorf(shop.InvalidParameter, "The parameter %s %s.", name, fmt.Sprintf(format, args...))
	}
}

// single returns a parameter that must not be repeated, and whether it was given.
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

// integer returns an integer from low to high, or preset if the parameter is missing.
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

// pageRequest returns the page that the parameters limit and cursor select.
func (q *query) pageRequest() shop.PageRequest {
	return shop.PageRequest{Limit: int(q.integer("limit", 1, maxLimit, defaultLimit)), After: q.cursor()}
}

// id returns an id, or nil if the parameter is missing.
func (q *query) id(name string) *int64 {
	text, given := q.single(name)
	if !given {
		return nil
	}
	return q.parseID(name, text)
}

// ids returns the ids of a parameter that may be repeated.
func (q *query) ids(name string, maxCount int) []int64 {
	if n := len(q.values[name]); n > maxCount {
		q.fail(name, "was given %d times; give it at most %d times", n, maxCount)
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
		q.fail(name, "must be a 64-bit integer")
		return nil
	}
	return &n
}

// checkedText returns a text, or "" if the parameter is missing. The function problem returns what is wrong
// with it, or "".
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

// boolean returns true or false, which is the default.
func (q *query) boolean(name string) bool {
	text, given := q.single(name)
	if given && text != "true" && text != "false" {
		q.fail(name, "must be true or false")
	}
	return text == "true"
}

// cursor returns the position of the last item of the previous page, or nil for the first page.
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

// parseInt64 parses a decimal integer, without a plus sign.
func parseInt64(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && !strings.HasPrefix(text, "+")
}
