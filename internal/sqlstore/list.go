package sqlstore

import (
	"fmt"
	"strings"

	"animalstore/internal/shop"
)

// conditions collects what a list is narrowed by. Only what is asked for stands in the query, so that the planner finds
// the index that is made for it.
type conditions struct {
	texts []string
	args  []any
}

// add adds a condition with one value, which stands for %s in it.
func (c *conditions) add(condition string, value any) {
	c.texts = append(c.texts, fmt.Sprintf(condition, c.place(value)))
}

func addIn[T any](c *conditions, column string, values []T) {
	places := make([]string, len(values))
	for i, value := range values {
		places[i] = c.place(value)
	}
	c.texts = append(c.texts, column+" IN ("+strings.Join(places, ", ")+")")
}

func (c *conditions) place(value any) string {
	c.args = append(c.args, value)
	return fmt.Sprintf("$%d", len(c.args))
}

// page writes the query for one window of a list; after is the condition of what follows a position in its order.
func (c *conditions) page(selection string, w shop.Window, after, order string) (query string, args []any) {
	if w.From != nil {
		c.add(after, *w.From)
	}
	query = selection
	if len(c.texts) > 0 {
		query += " WHERE " + strings.Join(c.texts, " AND ")
	}
	query += " ORDER BY " + order + " LIMIT " + c.place(w.Limit)
	return query, c.args
}
