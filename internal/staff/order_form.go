package staff

import (
	"net/http"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// orderField is a field in the forms that reserve an animal and change an order. Its value is a text.
type orderField struct {
	Name, Label, Type, Mode, Hint string
	Max                           int
	Value                         string
	Was                           string // the value of the order when the form was shown
	Problem                       string
	Theirs                        *string // what somebody else has saved, if that differs

	member string // the name of the member in problems
	get    func(shop.Order) string
}

// customerFields returns the fields for the customer in a form.
func customerFields() []orderField {
	return []orderField{
		{
			Name: "name", Label: "Customer", Type: "text", Max: 200, member: "customer.name",
			get: func(o shop.Order) string { return o.Customer.Name },
		},
		{
			Name: "phone", Label: "Phone", Type: "tel", Max: 50, member: "customer.phone",
			get: func(o shop.Order) string { return o.Customer.Phone },
		},
		{
			Name: "email", Label: "E-mail", Type: "email", Max: 200, member: "customer.email",
			get: func(o shop.Order) string { return o.Customer.Email },
		},
	}
}

// orderFields returns the fields for everything else in a form.
func orderFields() []orderField {
	return []orderField{
		{
			Name: "pickup", Label: "Day of pick-up", Type: "date", member: "pickupDate",
			get: func(o shop.Order) string { return o.PickupDate },
		},
		{
			Name: "reference", Label: "Note", Type: "text", Max: 200, member: "reference",
			get: func(o shop.Order) string { return o.Reference },
		},
		{
			Name: "amount", Label: "Price", Type: "text", Mode: "decimal", Max: 14, member: "price.amount",
			get: func(o shop.Order) string { return o.Price.Amount },
		},
		{
			Name: "currency", Label: "Currency", Type: "text", Max: 3, member: "price.currency",
			get: func(o shop.Order) string { return o.Price.Currency },
		},
	}
}

// orderForm is the template data for a form that reserves an animal or changes an order.
type orderForm struct {
	Prefix   string // of the ids on the page: "reserve" or "order"
	Path     string // to which the form is sent
	Back     string // the path of the page that contains the form
	Fields   []orderField
	Conflict bool // whether somebody else has changed the order in the meantime
}

// Reserves reports whether the form reserves an animal.
func (f orderForm) Reserves() bool { return f.Prefix == "reserve" }

// newReserveForm returns the form that reserves an animal. The price is that of the profile.
func newReserveForm(pet shop.PetView) orderForm {
	form := orderForm{Prefix: "reserve", Path: petPath(pet.ID) + "/orders", Back: petPath(pet.ID), Fields: append(customerFields(), orderFields()...)}
	form.fill(shop.Order{Price: pet.Profile.Price})
	return form
}

// newOrderForm returns the form that changes an order. Who may not see the customer may not change it, either.
func newOrderForm(order shop.Order, seesCustomers bool) orderForm {
	form := orderForm{Prefix: "order", Path: orderPath(order.ID), Back: orderPath(order.ID)}
	if seesCustomers {
		form.Fields = customerFields()
	}
	form.Fields = append(form.Fields, orderFields()...)
	form.fill(order)
	return form
}

// fill gives the fields the values of an order.
func (f *orderForm) fill(order shop.Order) {
	for i, field := range f.Fields {
		f.Fields[i].Value = field.get(order)
		f.Fields[i].Was = f.Fields[i].Value
	}
}

// read gives the fields the values in the form that was sent. A field that it lacks keeps its value.
func (f *orderForm) read(x *exchange) {
	for i, field := range f.Fields {
		if x.r.PostForm.Has(field.Name) {
			f.Fields[i].Value = strings.TrimSpace(x.field(field.Name))
			f.Fields[i].Was = x.field("was-" + field.Name)
		}
	}
}

// showProblems adds the problems to the fields that they are about.
func (f *orderForm) showProblems(problems shop.Problems) {
	for member, reason := range problems.All() {
		for i, field := range f.Fields {
			if field.member == member {
				f.Fields[i].Problem = sentence(pageReason(reason))
			}
		}
	}
}

// showConflict adds the current values of the order to the fields that differ from them. If the user saves again, the current
// values are overwritten.
func (f *orderForm) showConflict(now shop.Order) {
	f.Conflict = true
	for i, field := range f.Fields {
		if f.Fields[i].Was = field.get(now); f.Fields[i].Was != field.Value {
			f.Fields[i].Theirs = new(f.Fields[i].Was)
		}
	}
}

// orderValue returns the value of a field in the form that was sent, before or after the user has changed it, and whether the form
// has the field.
func (x *exchange) orderValue(was bool, name string) (string, bool) {
	has := x.r.PostForm.Has(name)
	if was {
		name = "was-" + name
	}
	return strings.TrimSpace(x.field(name)), has
}

// orderMembers returns what the form that was sent says of an order, or what it said before the user has changed it. Members
// that the form lacks are nil.
func (x *exchange) orderMembers(was bool) (c shop.OrderChange) {
	if reference, ok := x.orderValue(was, "reference"); ok {
		c.Reference = &reference
	}
	for name, member := range map[string]**string{"name": &c.Customer.Name, "phone": &c.Customer.Phone, "email": &c.Customer.Email} {
		if value, ok := x.orderValue(was, name); ok {
			*member = &value
		}
	}
	if day, ok := x.orderValue(was, "pickup"); ok {
		c.PickupDate = &day
	}
	if amount, ok := x.orderValue(was, "amount"); ok {
		c.Price = &shop.Price{}
		if amount != "" {
			currency, _ := x.orderValue(was, "currency")
			if currency == "" {
				currency = x.Service.CurrentSettings().Currency
			}
			if !strings.Contains(amount, ".") { // people type 99,50 in many countries
				amount = strings.Replace(amount, ",", ".", 1)
			}
			*c.Price = shop.Price{Amount: amount, Currency: strings.ToUpper(currency)}
		}
	}
	return c
}

// unlessSame returns nil if the user has not changed a member.
func unlessSame[T comparable](now, was *T) *T {
	if now == nil || was != nil && *now == *was {
		return nil
	}
	return now
}

// valueOf returns the value of a member, or "" if the form lacks the member.
func valueOf(member *string) string {
	if member == nil {
		return ""
	}
	return *member
}

// isStill reports whether a member has the value that it had when the form was shown, or is not about to be changed.
func isStill[T comparable](change, was *T, now T) bool {
	return change == nil || was != nil && *was == now
}

// placeOrder places an order, which reserves the animal.
func (p *Pages) placeOrder(x *exchange, id int64) error {
	members := x.orderMembers(false)
	n := shop.NewOrder{
		PetID: id, Reference: valueOf(members.Reference), PickupDate: valueOf(members.PickupDate), Price: members.Price,
		Customer: shop.Customer{Name: valueOf(members.Customer.Name), Phone: valueOf(members.Customer.Phone), Email: valueOf(members.Customer.Email)},
	}
	if problems := n.Problems(); len(problems) > 0 {
		pet, err := p.Service.PetView(x.r.Context(), id)
		if err != nil {
			return err
		}
		form := newReserveForm(pet)
		form.read(x)
		form.showProblems(problems)
		return x.showOrderForm(http.StatusUnprocessableEntity, "Reserve "+pet.Name, form)
	}
	order, err := once(x, func(by shop.Caller) (shop.Order, error) { return p.Service.PlaceOrder(x.r.Context(), by, n) })
	if err == nil {
		x.flashAbout(orderTopic(order.ID), undoOfOrderStep(order), "Reserved as order %d.", order.ID)
	}
	return x.showChangedPet(id, err)
}

// saveOrder changes an order while it is open, unless somebody else has changed the same field since the page was shown.
// With the field "undo", it takes such a change back.
func (p *Pages) saveOrder(x *exchange, id int64) error {
	now, was := x.orderMembers(false), x.orderMembers(true)
	change := shop.OrderChange{
		Reference: unlessSame(now.Reference, was.Reference), PickupDate: unlessSame(now.PickupDate, was.PickupDate), Price: unlessSame(now.Price, was.Price),
	}
	if x.May(shop.Customers) {
		change.Customer = shop.CustomerChange{
			Name: unlessSame(now.Customer.Name, was.Customer.Name), Phone: unlessSame(now.Customer.Phone, was.Customer.Phone),
			Email: unlessSame(now.Customer.Email, was.Customer.Email),
		}
	}
	undoes := x.field("undo") != ""
	if problems := change.Problems(); len(problems) > 0 && !undoes {
		return x.showOrderProblem(http.StatusUnprocessableEntity, id, func(form *orderForm, _ shop.Order) { form.showProblems(problems) })
	}
	_, err := x.updateOrder(id, change, func(now shop.Order) bool {
		return isStill(change.Reference, was.Reference, now.Reference) && isStill(change.PickupDate, was.PickupDate, now.PickupDate) &&
			isStill(change.Price, was.Price, now.Price) && isStill(change.Customer.Name, was.Customer.Name, now.Customer.Name) &&
			isStill(change.Customer.Phone, was.Customer.Phone, now.Customer.Phone) && isStill(change.Customer.Email, was.Customer.Email, now.Customer.Email)
	})
	switch {
	case err == nil && undoes:
		x.flashAbout(orderTopic(id), nil, "Order %d is as before.", id)
	case err == nil:
		x.flashAbout(orderTopic(id), x.undoOfOrderChange(id, change), "Order %d was saved.", id)
	case undoes:
		err = undoError(err, "the order")
	case shop.AsError(err).Code == shop.PreconditionFailed:
		return x.showOrderProblem(http.StatusConflict, id, (*orderForm).showConflict)
	}
	return x.finishInPlace(err, orderPath(id), orderTopic(id))
}

// showOrderProblem responds with the form of an order as the user has sent it.
func (x *exchange) showOrderProblem(status int, id int64, explain func(*orderForm, shop.Order)) error {
	order, err := x.Service.Order(x.r.Context(), id)
	if err != nil {
		return err
	}
	order = order.ForKey(x.May(shop.Customers))
	form := newOrderForm(order, x.May(shop.Customers))
	form.read(x)
	explain(&form, order)
	return x.showOrderForm(status, "Order "+strconv.FormatInt(id, 10), form)
}

// showOrderForm responds with a form, either in its place or as a page.
func (x *exchange) showOrderForm(status int, title string, form orderForm) error {
	if !x.partial() {
		return x.show(status, "order-form", title, form)
	}
	x.w.Header().Set("HX-Retarget", "#"+form.Prefix+"-form")
	x.w.Header().Set("HX-Reswap", "outerHTML")
	return x.showFragment("order-form", form)
}

// undoOfOrderChange returns the request that takes a change of an order back, or nil if nothing has changed. The service keeps
// nothing of it, because a customer that is erased must not stay anywhere.
func (x *exchange) undoOfOrderChange(id int64, change shop.OrderChange) *undo {
	values := map[string]string{}
	for name, changed := range map[string]bool{
		"reference": change.Reference != nil, "pickup": change.PickupDate != nil, "amount": change.Price != nil, "currency": change.Price != nil,
		"name": change.Customer.Name != nil, "phone": change.Customer.Phone != nil, "email": change.Customer.Email != nil,
	} {
		if changed {
			now, _ := x.orderValue(false, name)
			was, _ := x.orderValue(true, name)
			values[name], values["was-"+name] = was, now
		}
	}
	if len(values) == 0 {
		return nil
	}
	values["undo"] = "yes"
	return &undo{orderPath(id), values}
}
