package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// query parses the query parameters in a request. It keeps the first error in err. Once err is set, the
// values that its methods return must not be used.
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

// single returns a parameter that must not be repeated and reports whether it was given.
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

// integer returns a parameter that must be an integer from low to high, or preset if the parameter is
// missing.
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

// id returns a parameter that must be an id, or nil if the parameter is missing.
func (q *query) id(name string) *int64 {
	text, given := q.single(name)
	if !given {
		return nil
	}
	return q.parseID(name, text)
}

// ids returns all values of a parameter that must be an id and may be repeated.
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

// checkedText returns a text parameter, or "" if the parameter is missing. The problem function describes
// what is wrong with the text, or returns "" if the text is valid.
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

// time returns a parameter that must be a time in RFC 3339 format, or the zero time if the parameter is missing.
func (q *query) time(name string) time.Time {
	text, given := q.single(name)
	if !given {
		return time.Time{}
	}
	at, ok := parseTime(text)
	if !ok {
		q.fail(name, "%s", invalidTime)
	}
	return at
}

// boolean returns a parameter that must be true or false. The default is false.
func (q *query) boolean(name string) bool {
	text, given := q.single(name)
	if given && text != "true" && text != "false" {
		q.fail(name, "must be true or false")
	}
	return text == "true"
}

// whether returns a parameter that must be true or false, or nil if the parameter is missing.
func (q *query) whether(name string) *bool {
	if !q.values.Has(name) {
		return nil
	}
	return new(q.boolean(name))
}

// texts returns all values of a text parameter that may be repeated. The problem function describes what is wrong with a
// text, or returns "" if the text is valid.
func (q *query) texts(name string, maxCount int, problem func(string) string) []string {
	if n := len(q.values[name]); n > maxCount {
		q.fail(name, "was given %d times; give it at most %d times", n, maxCount)
		return nil
	}
	for _, text := range q.values[name] {
		if reason := problem(text); reason != "" {
			q.fail(name, "%s", reason)
		}
	}
	return q.values[name]
}

// cursor returns the position of the last item on the previous page, or nil if the first page is
// requested.
func (q *query) cursor() *int64 {
	text, given := q.single("cursor")
	if !given {
		return nil
	}
	position, err := web.ParseCursor(text)
	if err != nil {
		q.err = err
		return nil
	}
	return &position
}

// parseInt64 parses a decimal integer. It does not accept a plus sign.
func parseInt64(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && !strings.HasPrefix(text, "+")
}
