package shop

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// OrderStatus is how far an order has come.
type OrderStatus string

const (
	Placed    OrderStatus = "placed"    // holds its animal until the hold runs out
	Approved  OrderStatus = "approved"  // holds its animal until it is delivered or cancelled
	Delivered OrderStatus = "delivered" // the animal is sold
	Cancelled OrderStatus = "cancelled" // the animal is free again
	Expired   OrderStatus = "expired"   // the hold ran out; the animal is free again
)

// OrderStatuses are all the values that the status of an order can take.
func OrderStatuses() []OrderStatus {
	return []OrderStatus{Placed, Approved, Delivered, Cancelled, Expired}
}

// OrderStatusProblem says what is wrong with an order's status that a client sent, or "".
func OrderStatusProblem(s string) string {
	if slices.Contains(OrderStatuses(), OrderStatus(s)) {
		return ""
	}
	return "must be one of placed, approved, delivered, cancelled, expired"
}

// orderTransitions are the steps that a client can take with an order. Any status may also stay as it is.
var orderTransitions = map[OrderStatus][]OrderStatus{
	Placed:   {Approved, Cancelled},
	Approved: {Delivered, Cancelled},
}

// Transitions are the steps that a client can take with an order in this status.
func (s OrderStatus) Transitions() []OrderStatus { return slices.Clone(orderTransitions[s]) }

// petStatusAfter is what becomes of the animal with a step of its order; a step that is not here leaves it as it is.
var petStatusAfter = map[OrderStatus]Status{
	Placed:    Pending,
	Delivered: Sold,
	Cancelled: Available,
	Expired:   Available,
}

// NewOrder is what a client asks for.
type NewOrder struct {
	PetID     int64
	Reference string // the client's own text; empty: none
}

// Problems checks the rules of an order's members.
func (n NewOrder) Problems() Problems {
	var p Problems
	if n.Reference != "" {
		if reason := TextProblem(n.Reference); reason != "" {
			p.Add("reference", reason)
		}
	}
	return p
}

// Order holds one animal for a client, from its placing to its end.
type Order struct {
	ID            int64       `json:"id"`
	PetID         int64       `json:"petId"`
	Status        OrderStatus `json:"status"`
	Reference     string      `json:"reference,omitempty"`
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	HoldExpiresAt time.Time   `json:"holdExpiresAt,omitzero"` // while placed
}

// OrderList asks for one page of orders, newest first; what is zero or nil does not narrow it.
type OrderList struct {
	Status OrderStatus
	PetID  *int64
	PageRequest
}

// ListOrders returns one page of the orders.
func (s *Service) ListOrders(ctx context.Context, list OrderList) (Page[Order], error) {
	return readCurrent(ctx, s, func(tx ReadTx) (Page[Order], error) {
		return pageOf(list.PageRequest, func(w PageRequest) ([]Order, error) {
			return tx.Orders(OrderList{list.Status, list.PetID, w})
		})
	})
}

// Order returns one order, or not_found.
func (s *Service) Order(ctx context.Context, id int64) (Order, error) {
	return readCurrent(ctx, s, func(tx ReadTx) (Order, error) { return existingOrder(tx, id) })
}

func existingOrder(tx ReadTx, id int64) (Order, error) {
	order, found, err := tx.Order(id)
	if err == nil && !found {
		err = Errorf(NotFound, "There is no order with the id %d; list the orders to see which there are.", id)
	}
	return order, err
}

// PlaceOrder takes an available animal for a client. Of any number who try at once, one gets it. It returns
// validation_failed, pet_not_found or pet_not_available.
func (s *Service) PlaceOrder(ctx context.Context, n NewOrder) (Order, error) {
	if err := n.Problems().Err(); err != nil {
		return Order{}, err
	}
	return write(ctx, s, func(tx *eventTx) (Order, error) {
		if err := expireDueHold(tx, n.PetID); err != nil {
			return Order{}, err
		}
		pet, found, err := tx.Pet(n.PetID)
		if err != nil {
			return Order{}, err
		}
		if !found {
			return Order{}, Errorf(PetNotFound, "There is no animal with the id %d; list the animals to see which there are.", n.PetID)
		}
		if pet.Status != Available {
			return Order{}, Errorf(PetNotAvailable, "The animal %d is not available; only an available animal can be ordered.", pet.ID)
		}
		now, err := tx.Now()
		if err != nil {
			return Order{}, err
		}
		order, err := tx.InsertOrder(Order{
			PetID: pet.ID, Status: Placed, Reference: n.Reference,
			CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now.Add(s.orderHold),
		})
		if err != nil {
			return Order{}, err
		}
		return order, updatePetStatus(tx, order)
	})
}

// UpdateOrder takes an order one step further. It returns validation_failed, not_found, precondition_failed or
// invalid_transition.
func (s *Service) UpdateOrder(ctx context.Context, id int64, to OrderStatus, match Precondition[Order]) (Order, error) {
	if reason := OrderStatusProblem(string(to)); reason != "" {
		return Order{}, Errorf(ValidationFailed, "The status %s.", reason)
	}
	return write(ctx, s, func(tx *eventTx) (Order, error) {
		now, err := tx.Now()
		if err != nil {
			return Order{}, err
		}
		order, err := existingOrder(tx, id)
		if err == nil && order.holdIsOver(now) {
			order, err = expireOrder(tx, order, now)
		}
		if err != nil {
			return Order{}, err
		}
		if err := match.check(order); err != nil || order.Status == to {
			return order, err
		}
		if !slices.Contains(orderTransitions[order.Status], to) {
			return Order{}, Errorf(InvalidTransition, "An order that is %s cannot become %s, but %s.", order.Status, to, anyOf(orderTransitions[order.Status]))
		}
		return advanceOrder(tx, order, to, now)
	})
}

// advanceOrder takes an order to its next status, and its animal with it.
func advanceOrder(tx *eventTx, before Order, to OrderStatus, now time.Time) (Order, error) {
	order := before
	order.Status, order.UpdatedAt, order.HoldExpiresAt = to, latest(now, before.UpdatedAt), time.Time{}
	if err := tx.UpdateOrder(before, order); err != nil {
		return Order{}, err
	}
	return order, updatePetStatus(tx, order)
}

// updatePetStatus gives the animal of an order the status that goes with the order's.
func updatePetStatus(tx *eventTx, order Order) error {
	status, changes := petStatusAfter[order.Status]
	if !changes {
		return nil
	}
	before, found, err := tx.Pet(order.PetID)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the animal %d of the order %d is not there", order.PetID, order.ID)
	}
	after := before
	after.Status = status
	return tx.UpdatePet(before, after)
}

// OrderReader reads orders.
type OrderReader interface {
	// Order returns one order and whether it exists.
	Order(id int64) (Order, bool, error)
	// Orders returns at most list.Limit orders by descending id.
	Orders(list OrderList) ([]Order, error)
	// OpenOrder returns the placed or approved order of an animal and whether there is one.
	OpenOrder(petID int64) (Order, bool, error)
	// OpenOrders returns the placed and approved orders of several animals, in no particular order.
	OpenOrders(petIDs []int64) ([]Order, error)
	// NextHold returns when the next hold expires; the zero time if there is none.
	NextHold() (time.Time, error)
	// DueOrders returns some placed orders whose hold expires at or before the given time, earliest first.
	DueOrders(at time.Time) ([]Order, error)
}

// OrderMutations changes orders.
type OrderMutations interface {
	// InsertOrder adds an order and ignores its ID. The new id is larger than every id before it.
	InsertOrder(Order) (Order, error)
	// UpdateOrder changes the status and the times of an order.
	UpdateOrder(before, after Order) error
}
