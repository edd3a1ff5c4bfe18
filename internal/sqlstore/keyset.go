package sqlstore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// conditions builds the WHERE clause for a list with keyset pagination. The clause contains only the filters
// that are set, so that the planner finds the index that was created for these filters.
type conditions struct {
	texts []string
	args  []any
	among string   // the column that equalFirst compares with an array; empty if equalFirst was not called
	exact []string // columns that must equal a value, in the order of the index on these columns
	value []string // the placeholders for these values, in the same order
	byRow bool     // the value of dialect.byRow
}

// equal adds the condition that a column equals a value. If there are several such columns, they must be
// added in the order in which the index contains them.
func (c *conditions) equal(column string, value any) {
	c.exact, c.value = append(c.exact, column), append(c.value, c.placeholder(value))
}

// equalFirst is like equal, for the first of several columns. On PostgreSQL, it compares the column with an array that
// contains only the value. The planner then knows how many rows have this value, but does not treat the column as a
// constant. So only an index that begins with this column and continues with the others gives it the rows in the order
// of the list. With a single row comparison of all columns, the planner might choose another index that begins with
// this column, and would have to read all rows with this value.
func (c *conditions) equalFirst(column string, value int64) {
	if !c.byRow {
		c.equal(column, value)
		return
	}
	c.among = column
	c.add(column+" = ANY (CAST(%s AS BIGINT[]))", []int64{value})
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

// page returns the query for one page of a list. after is the condition for rows that follow the position %s, such as
// "id > %s". The limit is written into the text of the query. If it were a parameter, SQLite would plan the query again
// for each value. In a measurement, this planning took a third of the time.
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

// seek adds a range of row values as the condition. It selects the rows that have the values added by equal and follow
// the position from. seek returns the ORDER BY columns for this range. Only the index on these columns has this order,
// so the planner must use that index. The range includes its ends (it uses <= instead of <), because the planner
// estimates the number of rows only from the first column. For "less than the smallest status", it would expect no rows
// at all.
func (c *conditions) seek(from *int64, descending bool) (order string) {
	low, high := fmt.Sprintf(">= (%%s, %d)", math.MinInt64), fmt.Sprintf("<= (%%s, %d)", math.MaxInt64)
	switch {
	case from == nil:
	case descending && *from == math.MinInt64 || !descending && *from == math.MaxInt64:
		c.texts = append(c.texts, "FALSE") // no row follows this position
	case descending:
		high = "<= (%s, " + c.placeholder(*from-1) + ")"
	default:
		low = ">= (%s, " + c.placeholder(*from+1) + ")"
	}
	columns, values := strings.Join(c.exact, ", "), strings.Join(c.value, ", ")
	c.texts = append(c.texts, fmt.Sprintf("(%s, id) "+low, columns, values), fmt.Sprintf("(%s, id) "+high, columns, values))
	return c.order(descending, append(slices.Clone(c.exact), "id")...)
}

// order returns the ORDER BY columns. If equalFirst was called, its column comes first.
func (c *conditions) order(descending bool, columns ...string) string {
	if c.among != "" {
		columns = append([]string{c.among}, columns...)
	}
	if descending {
		return strings.Join(columns, " DESC, ") + " DESC"
	}
	return strings.Join(columns, ", ")
}
