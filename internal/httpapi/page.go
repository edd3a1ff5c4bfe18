package httpapi

import (
	"fmt"
	"net/url"
)

// How many things one page of a list holds.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// pageLinks is the Link header of a page: the first page of the same list, and the next one where there is more after
// the position last.
func pageLinks(address string, query url.Values, more bool, last int64) string {
	query.Del("cursor")
	first := fmt.Sprintf(`<%s?%s>; rel="first"`, address, query.Encode())
	if !more {
		return first
	}
	query.Set("cursor", formatCursor(last))
	return fmt.Sprintf(`<%s?%s>; rel="next", %s`, address, query.Encode(), first)
}
