package sqlstore

import (
	"database/sql"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// orderColumns are all columns of an order. orderFields are those that can change.
const (
	orderColumns = "id, pet_id, created_at, " + orderFields
	orderFields  = "status, reference, updated_at, hold_expires_at, changed_at, status_before, hold_before, pet_status_changes, is_undo, " +
		"pickup_date, price, currency, customer"
)

func scanOrder(scan Scanner) (shop.Order, error) {
	var order shop.Order
	var reference, statusBefore, pickup, amount, currency, customer sql.Null[string]
	var created, updated, undo int64
	var hold, changed, holdBefore, changes sql.Null[int64]
	err := scan(&order.ID, &order.PetID, &created, &order.Status, &reference, &updated, &hold, &changed, &statusBefore, &holdBefore, &changes, &undo,
		&pickup, &amount, &currency, &customer)
	order.Customer = customerIn(customer.V)
	order.Reference, order.PickupDate, order.Price = reference.V, pickup.V, shop.Price{Amount: amount.V, Currency: currency.V}
	order.CreatedAt, order.UpdatedAt, order.HoldExpiresAt = fromMicros(created), fromMicros(updated), fromMicros(hold.V)
	order.LastChange = shop.StatusChange{At: fromMicros(changed.V), Before: shop.OrderStatus(statusBefore.V), HoldExpiresAt: fromMicros(holdBefore.V),
		PetStatusChanges: changes.V, IsUndo: undo == 1}
	return order, err
}

var (
	orderInsertion = &engine.Insertion{Table: "orders", Columns: orderColumns,
		Types: append([]string{"BIGINT", "BIGINT", "BIGINT"}, orderFieldTypes...)}
	orderUpdate = newRowUpdate("orders", orderFields, append([]string{"BIGINT"}, orderFieldTypes...))
	// orderFieldTypes are the SQL types of the values that appendOrderFields appends.
	orderFieldTypes = []string{"TEXT", "TEXT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "TEXT", "TEXT", "TEXT"}
)

// appendOrderFields appends one value for each of orderFields to args.
func appendOrderFields(args []any, o shop.Order) []any {
	args = append(args, string(o.Status), nullable(o.Reference), micros(o.UpdatedAt), nullable(micros(o.HoldExpiresAt)))
	if last := o.LastChange; last.At.IsZero() {
		args = append(args, nil, nil, nil, nil, int64(0))
	} else {
		args = append(args, micros(last.At), string(last.Before), nullable(micros(last.HoldExpiresAt)), last.PetStatusChanges, number(last.IsUndo))
	}
	return append(args, nullable(o.PickupDate), nullable(o.Price.Amount), nullable(o.Price.Currency), customerText(o.Customer))
}

// customerText returns the value for the column customer, which is also the text that is searched: the fields, each on a
// line of its own.
func customerText(c shop.Customer) any {
	if c == (shop.Customer{}) {
		return nil
	}
	return c.Words()
}

func customerIn(text string) (c shop.Customer) {
	fields := strings.SplitN(text+"\n\n", "\n", 4)
	c.Name, c.Phone, c.Email = fields[0], fields[1], fields[2]
	return c
}

func (t *tx) Order(id int64) (shop.Order, bool, error) {
	return one(t, scanOrder, "SELECT "+orderColumns+" FROM orders WHERE id = $1", id)
}

func (t *tx) Orders(list shop.OrderList) ([]shop.Order, error) {
	query, args := ordersQuery(t.dialect, list)
	return all(t, scanOrder, query, args...)
}

func ordersQuery(d *dialect, list shop.OrderList) (query string, args []any) {
	c := conditions{byRow: d.byRow}
	switch {
	case list.PetID == nil:
	case list.Status == "":
		c.equal("pet_id", *list.PetID)
	default:
		c.equalFirst("pet_id", *list.PetID)
	}
	switch {
	case list.PickupDate == "":
	case list.PetID == nil:
		c.texts = append(c.texts, "pickup_date IS NOT NULL") // as in the condition of the index
		c.equal("pickup_date", list.PickupDate)
	default:
		c.add("pickup_date || '' = %s", list.PickupDate)
	}
	switch {
	case list.Status == "":
	case list.PetID == nil && list.PickupDate != "":
		c.add("status || '' = %s", list.Status) // an expression, so that the index on the date is used
	default:
		c.equal("status", list.Status)
	}
	if !list.HoldFrom.IsZero() {
		// The + keeps SQLite from using the index on this column. That index does not have the order of the list.
		c.add("+hold_expires_at >= %s", micros(list.HoldFrom))
	}
	if list.OldestFirst {
		return c.page("SELECT "+orderColumns+" FROM orders", list.PageRequest, "id > %s", "id")
	}
	return c.page("SELECT "+orderColumns+" FROM orders", list.PageRequest, "id < %s", "id DESC")
}

func (t *tx) Pickups(from, to string, limit int) ([]shop.Order, error) {
	query, args := pickupsQuery(t.dialect, from, to, limit)
	return all(t, scanOrder, query, args...)
}

func pickupsQuery(d *dialect, from, to string, limit int) (query string, args []any) {
	var c conditions
	c.texts = []string{"status IN ('placed', 'approved')"}
	selection, page := "SELECT "+orderColumns+" FROM orders"+d.byPickup, shop.PageRequest{Limit: limit}
	if from == "" && to == "" {
		c.texts = append(c.texts, "pickup_date IS NULL")
	} else {
		c.add("pickup_date >= %s", from)
		c.add("pickup_date < %s", to)
	}
	return c.page(selection, page, "", "pickup_date, id") // also if there is no date, because the index has this order
}

// eraseAtOnce is the maximum number of customers that are erased in one transaction.
const eraseAtOnce = 50

func (t *tx) ClosedWithCustomer(before time.Time) ([]shop.Order, error) {
	query, args := closedQuery(t.dialect, before)
	return all(t, scanOrder, query, args...)
}

func closedQuery(d *dialect, before time.Time) (query string, args []any) {
	c := conditions{texts: []string{"customer IS NOT NULL", "status IN ('delivered', 'cancelled', 'expired')"}}
	c.add("changed_at <= %s", micros(before))
	return c.page("SELECT "+orderColumns+" FROM orders"+d.byClosing, shop.PageRequest{Limit: eraseAtOnce}, "", "changed_at")
}

func (t *tx) OpenOrder(petID int64) (shop.Order, bool, error) {
	return one(t, scanOrder, "SELECT "+orderColumns+" FROM orders WHERE pet_id = $1 AND status IN ('placed', 'approved')", petID)
}

func (t *tx) OpenOrders(petIDs []int64) ([]shop.Order, error) {
	return allIn(t, petIDs, scanOrder, "SELECT "+orderColumns+" FROM orders WHERE pet_id IN (%s) AND status IN ('placed', 'approved')")
}

// lockPet locks the pet of an order that is about to be written, if the engine needs this lock.
func (t *tx) lockPet(id int64) error {
	t.touched |= touchedOrders
	if err := t.touchWindow(id); err != nil || t.dialect.lockPet == "" {
		return err
	}
	return t.Exec(t.dialect.lockPet, id)
}

func (t *tx) InsertOrder(order shop.Order) (shop.Order, error) {
	if err := t.lockPet(order.PetID); err != nil {
		return shop.Order{}, err
	}
	inserted, _, err := one(t, scanOrder, `
		INSERT INTO orders (pet_id, created_at, `+orderFields+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING `+orderColumns,
		appendOrderFields([]any{order.PetID, micros(order.CreatedAt)}, order)...)
	t.textChanged(orderReferences, inserted.ID)
	t.textChanged(orderCustomers, inserted.ID)
	return inserted, err
}

func (t *tx) UpdateOrder(before, order shop.Order) error {
	if err := t.lockPet(order.PetID); err != nil {
		return err
	}
	if before.Reference != order.Reference {
		t.textChanged(orderReferences, order.ID)
	}
	if before.Customer != order.Customer {
		t.textChanged(orderCustomers, order.ID)
	}
	return t.dialect.updateOrders(t, []shop.Order{order})
}

// updateOrders writes the columns of orders that can change.
func (d *dialect) updateOrders(w engine.Writer, orders []shop.Order) error {
	return d.update(w, orderUpdate, len(orders), func(args []any, row int) []any {
		return appendOrderFields(append(args, orders[row].ID), orders[row])
	})
}
