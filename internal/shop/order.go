package shop

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// OrderStatus is the state of an order.
type OrderStatus string

const (
	Placed    OrderStatus = "placed"    // holds its animal until the hold expires
	Approved  OrderStatus = "approved"  // holds its animal until it is delivered or cancelled
	Delivered OrderStatus = "delivered" // the animal is sold
	Cancelled OrderStatus = "cancelled" // the animal is available again
	Expired   OrderStatus = "expired"   // the hold expired; the animal is available again
)

// OrderStatuses returns all statuses of an order.
func OrderStatuses() []OrderStatus {
	return []OrderStatus{Placed, Approved, Delivered, Cancelled, Expired}
}

// OrderStatusProblem returns why a status that a client sent is invalid, or "".
func OrderStatusProblem(s string) string {
	if slices.Contains(OrderStatuses(), OrderStatus(s)) {
		return ""
	}
	return "must be one of placed, approved, delivered, cancelled, expired"
}

// orderTransitions are the changes of status that a client can make. Keeping the status is always allowed.
var orderTransitions = map[OrderStatus][]OrderStatus{
	Placed:   {Approved, Cancelled},
	Approved: {Delivered, Cancelled},
}

// Transitions returns the statuses that a client can give to an order in this status.
func (s OrderStatus) Transitions() []OrderStatus { return slices.Clone(orderTransitions[s]) }

// petStatusAfter maps the new status of an order to the new status of its animal. Other statuses leave it
// unchanged.
var petStatusAfter = map[OrderStatus]Status{
	Placed:    Pending,
	Delivered: Sold,
	Cancelled: Available,
	Expired:   Available,
}

// NewOrder describes an order to be placed.
type NewOrder struct {
	PetID     int64
	Reference string // free text of the client; may be empty
}

// Problems checks the members of a new order.
func (n NewOrder) Problems() Problems {
	var p Problems
	if n.Reference != "" {
		if reason := TextProblem(n.Reference); reason != "" {
			p.Add("reference", reason)
		}
	}
	return p
}

// Order reserves one animal for a client until it is delivered, cancelled or expired.
type Order struct {
	ID            int64       `json:"id"`
	PetID         int64       `json:"petId"`
	Status        OrderStatus `json:"status"`
	Reference     string      `json:"reference,omitempty"`
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	HoldExpiresAt time.Time   `json:"holdExpiresAt,omitzero"` // set while placed
}

// OrderList selects one page of the orders that match all of its fields, newest first. A zero field matches
// every order.
type OrderList struct {
	Status OrderStatus
	PetID  *int64
	PageRequest
}

// ListOrders returns one page of the orders, newest first.
func (s *Service) ListOrders(ctx context.Context, list OrderList) (Page[Order], error) {
	return readCurrent(ctx, s, func(tx ReadTx) (Page[Order], error) {
		return pageOf(list.PageRequest, func(page PageRequest) ([]Order, error) {
			return tx.Orders(OrderList{list.Status, list.PetID, page})
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
		err = Errorf(NotFound, "There is no order with the id %d; list the orders to find an existing one.", id)
	}
	return order, err
}

// PlaceOrder reserves an available animal. Of any number of concurrent orders for one animal, one succeeds.
// It returns validation_failed, pet_not_found or pet_not_available.
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
			return Order{}, Errorf(PetNotFound, "There is no animal with the id %d; list the animals to find an existing one.", n.PetID)
		}
		if pet.Status != Available {
			return Order{}, Errorf(PetNotAvailable, "Animal %d is not available; only available animals can be ordered.", pet.ID)
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

// UpdateOrder changes the status of an order, and of its animal accordingly. It returns validation_failed,
// not_found, precondition_failed or invalid_transition.
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
			return Order{}, Errorf(InvalidTransition, "An order that is %s cannot become %s; %s.", order.Status, to, allowedStatuses(orderTransitions[order.Status]))
		}
		return advanceOrder(tx, order, to, now)
	})
}

// advanceOrder changes the status of an order and of its animal.
func advanceOrder(tx *eventTx, before Order, to OrderStatus, now time.Time) (Order, error) {
	order := before
	order.Status, order.UpdatedAt, order.HoldExpiresAt = to, latest(now, before.UpdatedAt), time.Time{}
	if err := tx.UpdateOrder(before, order); err != nil {
		return Order{}, err
	}
	return order, updatePetStatus(tx, order)
}

// updatePetStatus sets the status of an order's animal as petStatusAfter demands.
func updatePetStatus(tx *eventTx, order Order) error {
	status, changed := petStatusAfter[order.Status]
	if !changed {
		return nil
	}
	before, found, err := tx.Pet(order.PetID)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the animal %d of order %d does not exist", order.PetID, order.ID)
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
