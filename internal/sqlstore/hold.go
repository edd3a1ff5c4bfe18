package sqlstore

import (
	"database/sql"
	"time"

	"animalstore/internal/shop"
)

// nextHold is the query for the time when the next hold expires.
const nextHold = "SELECT min(hold_expires_at) FROM orders WHERE status = 'placed'"

func (t *tx) NextHold() (time.Time, error) {
	next, _, err := one(t, scanValue[sql.Null[int64]], nextHold)
	return fromMicros(next.V), err
}

// dueOrders is the maximum number of holds that expire in one transaction.
const dueOrders = "50"

func (t *tx) DueOrders(now time.Time) ([]shop.Order, error) {
	return all(t, scanOrder, "SELECT "+orderColumns+" FROM orders"+t.dialect.byHold+" WHERE status = 'placed' AND hold_expires_at <= $1 "+
		"ORDER BY hold_expires_at LIMIT "+dueOrders, micros(now))
}

func (t *tx) Holds(from, to time.Time, limit int) ([]shop.Order, error) {
	query, args := holdsQuery(t.dialect, from, to, limit)
	return all(t, scanOrder, query, args...)
}

func holdsQuery(d *dialect, from, to time.Time, limit int) (query string, args []any) {
	var c conditions
	c.texts = []string{"status = 'placed'"}
	c.add("hold_expires_at >= %s", micros(from))
	c.add("hold_expires_at < %s", micros(to))
	return c.page("SELECT "+orderColumns+" FROM orders"+d.byHold, shop.PageRequest{Limit: limit}, "", "hold_expires_at, id")
}
