package sqlstore

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// conditions builds the WHERE clause for a list with keyset pagination. The clause contains only the filters
// that are set, so that the planner finds the index that was created for these filters.
type conditions struct {
	texts []string
	args  []any
	exact []string // columns that must equal a value, in the order of the index on these columns
	value []string // the placeholders for these values, in the same order
	byRow bool     // the value of dialect.byRow
}

// equal adds the condition that a column equals a value. If there are several such columns, they must be
// added in the order in which the index contains them.
func (c *conditions) equal(column string, value any) {
	c.exact, c.value = append(c.exact, column), append(c.value, c.placeholder(value))
}

// add adds a condition with one value. The placeholder for the value replaces %s in the condition.
func (c *conditions) add(condition string, value any) {
	c.texts = append(c.texts, strings.Replace(condition, "%s", c.placeholder(value), 1))
}

func addIn[T any](c *conditions, column string, values []T) {
	places := make([]string, len(values))
	for i, value := range values {
		places[i] = c.placeholder(value)
	}
	c.texts = append(c.texts, column+" IN ("+strings.Join(places, ", ")+")")
}

func (c *conditions) placeholder(value any) string {
	c.args = append(c.args, value)
	return "$" + strconv.Itoa(len(c.args))
}

// page returns the query for one page of a list. after is the condition for rows that follow the position %s,
// such as "id > %s". The limit is written into the text of the query. If the limit were a parameter, SQLite
// would plan the query again for each value, which took a third of the time.
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

// seek adds the exact values and the position as one range of row values. It returns the ORDER BY columns for
// this range. Only the index on these columns has this order, so the planner must use that index.
func (c *conditions) seek(from *int64, descending bool) (order string) {
	low, high := fmt.Sprintf(">= (%%s, %d)", math.MinInt64), fmt.Sprintf("<= (%%s, %d)", math.MaxInt64)
	switch {
	case from != nil && descending:
		high = "< (%s, " + c.placeholder(*from) + ")"
	case from != nil:
		low = "> (%s, " + c.placeholder(*from) + ")"
	}
	columns, values := strings.Join(c.exact, ", "), strings.Join(c.value, ", ")
	c.texts = append(c.texts, fmt.Sprintf("(%s, id) "+low, columns, values), fmt.Sprintf("(%s, id) "+high, columns, values))
	if descending {
		return strings.Join(c.exact, " DESC, ") + " DESC, id DESC"
	}
	return columns + ", id"
}
