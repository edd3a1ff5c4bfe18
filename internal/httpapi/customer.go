package httpapi

import (
	"strings"

	"animalstore/internal/shop"
)

// orderWithCustomer is an order as keys with the scope customers see it.
type orderWithCustomer struct {
	shop.Order
	Customer shop.Customer `json:"customer,omitzero"`
}

// seesCustomers reports whether the response may show customers. A client such as the tools of assistants can ask to leave
// them out although its key has the scope.
func (x *exchange) seesCustomers() bool {
	if !x.principal.HasScope(shop.Customers) {
		return false
	}
	for _, field := range x.r.Header.Values("Prefer") {
		for preference := range strings.SplitSeq(field, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(preference), "=")
			if strings.EqualFold(strings.TrimSpace(name), "omit") && strings.Trim(value, ` "`) == "customers" {
				return false
			}
		}
	}
	return true
}

// orderView returns an order as the response shows it.
func (x *exchange) orderView(order shop.Order) any {
	if x.seesCustomers() {
		return orderWithCustomer{order, order.Customer}
	}
	return order
}

// orderPreconditions is like preconditions, for an order as the key sees it.
func orderPreconditions(x *exchange) shop.Precondition[shop.Order] {
	match := preconditions[any](x)
	if match == nil {
		return nil
	}
	return func(order shop.Order) bool { return match(x.orderView(order)) }
}

// sendOrder sends the response to a POST. Its stored copy contains no customer, but the tag of what the key sees.
func (x *exchange) sendOrder(status int, location string, order shop.Order) {
	stored := x.storedOrder(status, location, order)
	stored.Body = encode(x.orderView(order))
	x.sendStored(stored)
}

func (x *exchange) storedOrder(status int, location string, order shop.Order) shop.StoredResponse {
	return shop.StoredResponse{Status: status, Location: location, Tag: shop.EntityTag(encode(x.orderView(order))), Body: encode(order)}
}

func (a *API) eraseCustomer(x *exchange) error {
	id, err := x.pathID("order")
	if err != nil {
		return err
	}
	if err := a.Service.EraseCustomer(x.r.Context(), x.caller(), id, orderPreconditions(x)); err != nil {
		return err
	}
	x.sendNoContent()
	return nil
}

// customerChange returns what an optional member changes in a customer. The member must be null or an object.
func (o *object) customerChange(name string) (change shop.CustomerChange) {
	value, given := o.member(name)
	switch {
	case !given:
		return change
	case value.Kind() == 'n':
		return shop.RemoveCustomer()
	}
	inner, ok := o.inner(name, value)
	if !ok {
		return change
	}
	change.Name = removableText[string](inner, "name", shop.TextProblem)
	change.Phone = removableText[string](inner, "phone", shop.PhoneProblem)
	change.Email = removableText[string](inner, "email", shop.EmailProblem)
	for member, reason := range inner.problems.All() {
		o.problems.Add(name+"."+member, reason)
	}
	return change
}

// customer returns an optional member, which must be an object. Its members are optional, too.
func (o *object) customer(name string) shop.Customer {
	value, given := o.member(name)
	if !given {
		return shop.Customer{}
	}
	inner, ok := o.inner(name, value)
	if !ok {
		return shop.Customer{}
	}
	var customer shop.Customer
	for _, field := range []struct {
		name    string
		into    *string
		problem func(string) string
	}{
		{"name", &customer.Name, shop.TextProblem}, {"phone", &customer.Phone, shop.PhoneProblem}, {"email", &customer.Email, shop.EmailProblem},
	} {
		if inner.has(field.name) {
			*field.into = inner.checkedText(field.name, field.problem)
		}
	}
	for member, reason := range inner.problems.All() {
		o.problems.Add(name+"."+member, reason)
	}
	return customer
}
