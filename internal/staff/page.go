package staff

import (
	"strconv"

	"animalstore/internal/shop"
)

// pageSize is the number of rows that a list shows before the browser requests more.
const pageSize = 50

// pageRequest returns the request for one page of a list. The page begins after the id in the query parameter
// "from". Without that parameter, it is the first page.
func (x *exchange) pageRequest() shop.PageRequest {
	request := shop.PageRequest{Limit: pageSize}
	if from, err := strconv.ParseInt(x.r.URL.Query().Get("from"), 10, 64); err == nil {
		request.After = &from
	}
	return request
}
