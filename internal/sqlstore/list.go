package sqlstore

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// conditions collects what a list is narrowed by. Only what is asked for stands in the query, so that the planner finds
// the index that is made for it.
type conditions struct {
	texts []string
	args  []any
	exact []string // columns that have one value
	value []string // which; both in the order of the index that is made for them
	byRow bool     // dialect.byRow
}

// equal adds the condition that a column has a value. With several, they come in the order of their index.
func (c *conditions) equal(column string, value any) {
	c.exact, c.value = append(c.exact, column), append(c.value, c.place(value))
}

// add adds a condition with one value, which stands for %s in it.
func (c *conditions) add(condition string, value any) {
	c.texts = append(c.texts, strings.Replace(condition, "%s", c.place(value), 1))
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
	return "$" + strconv.Itoa(len(c.args))
}

// page writes the query for one window of a list; after is the condition of what follows a position in its order. The limit
// stands in the text: where it is bound, SQLite plans the query anew for each value, which took a third of the time.
func (c *conditions) page(selection string, w shop.PageRequest, after, order string) (query string, args []any) {
	if c.byRow && len(c.exact) > 0 {
		order = c.seek(w.After, strings.HasSuffix(order, " DESC"))
	} else {
		for i, column := range c.exact {
			c.texts = append(c.texts, column+" = "+c.value[i])
		}
		if w.After != nil {
			c.add(after, *w.After)
		}
	}
	query = selection
	if len(c.texts) > 0 {
		query += " WHERE " + strings.Join(c.texts, " AND ")
	}
	query += " ORDER BY " + order + " LIMIT " + strconv.Itoa(w.Limit)
	return query, c.args
}

// seek narrows a list to exact values and to what follows a position, as one range of whole rows. It returns the order. No
// other index has that order than the one that is made for these columns.
func (c *conditions) seek(from *int64, descending bool) (order string) {
	low, high := fmt.Sprintf(">= (%%s, %d)", math.MinInt64), fmt.Sprintf("<= (%%s, %d)", math.MaxInt64)
	switch {
	case from != nil && descending:
		high = "< (%s, " + c.place(*from) + ")"
	case from != nil:
		low = "> (%s, " + c.place(*from) + ")"
	}
	columns, values := strings.Join(c.exact, ", "), strings.Join(c.value, ", ")
	c.texts = append(c.texts, fmt.Sprintf("(%s, id) "+low, columns, values), fmt.Sprintf("(%s, id) "+high, columns, values))
	if descending {
		return strings.Join(c.exact, " DESC, ") + " DESC, id DESC"
	}
	return columns + ", id"
}
