package staff

import (
	"strconv"

	"animalstore/internal/shop"
)

// pageSize is the number of rows that a list shows before the browser requests more.
const pageSize = 50

// pageRequest returns the page of a list that the query parameter "from" asks for: the rows after that id, or
// the first page.
func (x *exchange) pageRequest() shop.PageRequest {
	request := shop.PageRequest{Limit: pageSize}
	if from, err := strconv.ParseInt(x.r.URL.Query().Get("from"), 10, 64); err == nil {
		request.After = &from
	}
	return request
}
