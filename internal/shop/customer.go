package shop

import (
	"context"
	"strings"
	"time"
)

// Customer is the person who has ordered an animal. All fields are optional.
//
// It is personal data. Only keys with the scope customers may see and search it, and it is never part of an event or of a
// stored response.
type Customer struct {
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"`
	Email string `json:"email,omitempty"`
}

// CustomerChange is a partial update of a customer. Fields that are nil are not changed, and "" removes a field.
type CustomerChange struct{ Name, Phone, Email *string }

// RemoveCustomer is the change that removes all fields.
func RemoveCustomer() CustomerChange { return CustomerChange{new(""), new(""), new("")} }

func (c CustomerChange) apply(customer Customer) Customer {
	replace(&customer.Name, c.Name)
	replace(&customer.Phone, c.Phone)
	replace(&customer.Email, c.Email)
	return customer
}

// maxPhone is the maximum number of code points in the phone number of a customer.
const maxPhone = 50

// PhoneProblem explains why the phone number of a customer is invalid. It returns "" if the number is valid.
func PhoneProblem(s string) string { return textProblem(s, maxPhone) }

// Problems validates the fields of a customer.
func (c Customer) Problems() (p Problems) {
	for _, field := range []struct {
		name, value string
		problem     func(string) string
	}{
		{"customer.name", c.Name, TextProblem}, {"customer.phone", c.Phone, PhoneProblem}, {"customer.email", c.Email, EmailProblem},
	} {
		if field.value == "" {
			continue
		}
		if reason := field.problem(field.value); reason != "" {
			p.Add(field.name, reason)
		}
	}
	return p
}

// Words returns the texts in which a search looks, each on a line of its own.
func (c Customer) Words() string { return strings.Join([]string{c.Name, c.Phone, c.Email}, "\n") }

// ForKey returns the order as a key may see it that has or does not have the scope customers.
func (o Order) ForKey(seesCustomers bool) Order {
	if !seesCustomers {
		o.Customer = Customer{}
	}
	return o
}

// EraseCustomer removes the customer of an order, whatever the status of the order is. It does nothing if there is none. It
// fails with not_found or precondition_failed.
func (s *Service) EraseCustomer(ctx context.Context, by Caller, id int64, match Precondition[Order]) error {
	return s.writeOnly(ctx, Writing{By: by, Texts: true, Erases: true}, func(tx *eventTx) error {
		order, now, err := orderToChange(tx, id, match)
		if err != nil {
			return err
		}
		return eraseCustomer(tx, order, now)
	})
}

func eraseCustomer(tx *eventTx, order Order, now time.Time) error {
	if order.Customer == (Customer{}) {
		return nil
	}
	erased := order
	erased.Customer, erased.UpdatedAt = Customer{}, latest(now, order.UpdatedAt)
	return tx.UpdateOrder(order, erased)
}

// EraseOldCustomers removes the customers of the orders that were closed longer ago than Options.CustomerRetention.
func (s *Service) EraseOldCustomers(ctx context.Context) error {
	if s.customerRetention == 0 {
		return nil
	}
	for more := true; more; {
		var due []Order
		if err := s.store.Read(ctx, Reading{SingleQuery: true}, func(tx ReadTx) (err error) {
			due, err = s.oldCustomers(tx)
			return err
		}); err != nil || len(due) == 0 {
			return err
		}
		err := s.writeOnly(ctx, Writing{Priority: Background, Texts: true, Erases: true}, func(tx *eventTx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			orders, err := s.oldCustomers(tx)
			more = len(orders) > 0
			for _, order := range orders {
				if err := eraseCustomer(tx, order, now); err != nil {
					return err
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) oldCustomers(tx ReadTx) ([]Order, error) {
	closed, err := cutoff(tx, s.customerRetention)
	if err != nil {
		return nil, err
	}
	return tx.ClosedWithCustomer(closed)
}
