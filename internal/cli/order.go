package cli

import (
	"cmp"
	"context"
	"errors"

	"animalstore/client"
	"animalstore/internal/shop"
)

type ordersCommands struct {
	exitCodesHelp
	List    ordersList    `cmd:"" help:"List the orders, newest first."`
	Show    ordersShow    `cmd:"" help:"Show one order."`
	Place   ordersPlace   `cmd:"" help:"Order an available animal; the order then holds it."`
	Set     ordersSet     `cmd:"" help:"Change an open order: its reference, day of pick-up, price, customer or the end of its hold."`
	Approve ordersApprove `cmd:"" help:"Approve placed orders; their holds no longer expire."`
	Deliver ordersDeliver `cmd:"" help:"Deliver approved orders; their animals are sold."`
	Cancel  ordersCancel  `cmd:"" help:"Cancel placed or approved orders; their animals are available again."`
	Undo    ordersUndo    `cmd:"" help:"Take back the last step of orders, within 24 hours."`
	Erase   ordersErase   `cmd:"" name:"erase-customer" help:"Erase the customers of orders for good; the orders stay."`
}

type ordersList struct {
	storeFlags
	timeFlag
	Status string `placeholder:"STATUS" help:"Only orders with this status: placed, approved, delivered, cancelled or expired."`
	Pet    *int64 `placeholder:"ID" help:"Only orders for this animal."`
	Pickup string `placeholder:"DATE" help:"Only orders to be picked up on this day, such as 2026-12-05."`
	Search string `placeholder:"TEXT" help:"Only orders whose reference or customer contains every word of this text, ignoring case and diacritics."`
	limitFlags
}

func (o *ordersList) Run(ctx context.Context, t terminal) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := checkFlags(statusProblem(o.Status, shop.OrderStatusProblem), optionalTextProblem("--search", o.Search),
		optionalDateProblem("--pickup", o.Pickup)); err != nil {
		return err
	}
	query := client.OrderQuery{Status: client.OrderStatus(o.Status), PickupDate: o.Pickup, Text: o.Search}
	if o.Pet != nil {
		if query.PetID = *o.Pet; query.PetID < 1 {
			return usagef("--pet must be the id of an animal, 1 or more")
		}
	}
	return o.read(ctx, func(c *client.Client) error {
		pets := nameTable{}
		row := func(order client.Order) []string {
			return []string{formatInt(order.ID), string(order.Status), pets.label(order.PetID), o.format(order.CreatedAt, ""),
				o.format(order.HoldExpiresAt, "-"), orDash(order.PickupDate), orDash(order.Reference)}
		}
		p := newPrinter(t, o.outputFlag, row, "ID", "STATUS", "PET", "PLACED", "HELD UNTIL", "PICK-UP", "REFERENCE")
		filtered := o.Status != "" || o.Pet != nil || o.Pickup != "" || o.Search != ""
		return printList(t, o.limitFlags, p, "orders", filtered, func(limit int, cursor string) ([]client.Order, string, error) {
			query.Limit, query.Cursor = limit, cursor
			orders, next, err := c.ListOrders(ctx, query)
			if err == nil && !o.isJSON() {
				pets.addPets(ctx, c, orders...)
			}
			return orders, next, err
		})
	})
}

type ordersShow struct {
	storeFlags
	timeFlag
	ID int64 `arg:"" help:"ID of the order, as shown by orders list."`
}

func (o *ordersShow) Run(ctx context.Context, t terminal) error {
	return o.read(ctx, func(c *client.Client) error {
		order, err := c.GetOrder(ctx, o.ID)
		if err != nil {
			return err
		}
		pets := nameTable{}
		if !o.isJSON() {
			pets.addPets(ctx, c, order)
		}
		customer := cmp.Or(order.Customer, &client.Customer{})
		return o.printFields(t, order, []string{"ID", formatInt(order.ID)}, []string{"STATUS", string(order.Status)},
			[]string{"PET", pets.label(order.PetID)}, []string{"PLACED", o.format(order.CreatedAt, "")},
			[]string{"CHANGED", o.format(order.UpdatedAt, "")}, []string{"HELD UNTIL", o.format(order.HoldExpiresAt, "-")},
			[]string{"PICK-UP", orDash(order.PickupDate)}, []string{"PRICE", orDash(priceText(order.Price))},
			[]string{"CUSTOMER", orDash(customer.Name)}, []string{"PHONE", orDash(customer.Phone)}, []string{"EMAIL", orDash(customer.Email)},
			[]string{"REFERENCE", orDash(order.Reference)}, []string{"ETAG", order.ETag})
	})
}

// customerFlags are the flags for the customer of an order.
type customerFlags struct {
	Name  *string `name:"customer-name" placeholder:"NAME" help:"Name of the customer."`
	Phone *string `name:"customer-phone" placeholder:"NUMBER" help:"Phone number of the customer."`
	Email *string `name:"customer-email" placeholder:"ADDRESS" help:"E-mail address of the customer."`
}

// problems describes what is wrong with the values of the flags.
func (c customerFlags) problems() []string {
	return []string{valueProblem("--customer-name", c.Name, shop.TextProblem), valueProblem("--customer-phone", c.Phone, shop.PhoneProblem),
		valueProblem("--customer-email", c.Email, shop.EmailProblem)}
}

func (c customerFlags) given() bool { return c != (customerFlags{}) }

type ordersPlace struct {
	storeFlags
	timeFlag
	idempotencyFlag
	customerFlags
	Pet       int64  `required:"" placeholder:"ID" help:"ID of the animal, as shown by pets list."`
	Reference string `placeholder:"TEXT" help:"Text of your choice, up to 200 characters, such as the number of a basket."`
	Pickup    string `placeholder:"DATE" help:"Day of pick-up, such as 2026-12-05."`
	Price     string `placeholder:"PRICE" xor:"price" help:"Amount and currency, such as \"250.00 EUR\" (default: that of the animal's profile)."`
	NoPrice   bool   `name:"no-price" xor:"price" help:"Without a price, even if the animal's profile has one."`
}

func (o *ordersPlace) Run(ctx context.Context, t terminal) error {
	if err := checkFlags(optionalTextProblem("--reference", o.Reference), optionalDateProblem("--pickup", o.Pickup),
		optionalPriceProblem(o.Price), o.idempotencyFlag.problem()); err != nil {
		return err
	}
	if err := checkFlags(o.customerFlags.problems()...); err != nil {
		return err
	}
	n := client.NewOrder{PetID: o.Pet, Reference: o.Reference, PickupDate: o.Pickup}
	if o.customerFlags.given() {
		n.Customer = &client.Customer{}
		for field, value := range map[*string]*string{&n.Customer.Name: o.Name, &n.Customer.Phone: o.Phone, &n.Customer.Email: o.Email} {
			if value != nil {
				*field = *value
			}
		}
	}
	if o.Price != "" || o.NoPrice {
		n.Price = new(client.Price(parsePrice(o.Price)))
	}
	return o.write(ctx, func(c *client.Client) error {
		order, err := c.PlaceOrder(ctx, n, o.options()...)
		if err != nil {
			return err
		}
		return o.printResult(t, order, "Placed order %d: it holds animal %d until %s.",
			order.ID, order.PetID, o.format(order.HoldExpiresAt, "it ends"))
	})
}

type ordersSet struct {
	storeFlags
	timeFlag
	ID          int64   `arg:"" help:"ID of the order, as shown by orders list."`
	Reference   *string `placeholder:"TEXT" xor:"reference" help:"New reference, up to 200 characters."`
	NoReference bool    `name:"no-reference" xor:"reference" help:"Remove the reference."`
	Pickup      *string `placeholder:"DATE" xor:"pickup" help:"New day of pick-up, such as 2026-12-05."`
	NoPickup    bool    `name:"no-pickup" xor:"pickup" help:"Remove the day of pick-up."`
	Price       *string `placeholder:"PRICE" xor:"price" help:"New price: amount and currency, such as \"250.00 EUR\"."`
	NoPrice     bool    `name:"no-price" xor:"price" help:"Remove the price."`
	customerFlags
	NoCustomer bool    `name:"no-customer" help:"Remove the name, phone number and e-mail address of the customer."`
	HoldUntil  *string `name:"hold-until" placeholder:"TIME" help:"When the hold expires, such as 3d, 2027-01-31 or 2027-01-31T18:00:00Z; at most a year ahead."`
	IfMatch    *string `name:"if-match" placeholder:"ETAG" help:"Only if the order still has this ETag, as printed by orders show; * matches any (default: its ETag when the command starts)."`
}

func (o *ordersSet) Run(ctx context.Context, t terminal) error {
	err := checkFlags(append(o.customerFlags.problems(), valueProblem("--reference", o.Reference, shop.TextProblem),
		valueProblem("--pickup", o.Pickup, shop.DateProblem), valueProblem("--price", o.Price, priceProblem))...)
	if err != nil {
		return err
	}
	update := client.OrderUpdate{Reference: o.Reference, PickupDate: o.Pickup}
	if o.NoReference {
		update.Reference = new("")
	}
	if o.NoPickup {
		update.PickupDate = new("")
	}
	if o.Price != nil {
		update.Price = new(client.Price(parsePrice(*o.Price)))
	} else if o.NoPrice {
		update.Price = &client.Price{}
	}
	switch {
	case o.NoCustomer && o.customerFlags.given():
		return usagef("--no-customer and a new customer exclude each other")
	case o.NoCustomer:
		update.Customer = &client.CustomerUpdate{Name: new(""), Phone: new(""), Email: new("")}
	case o.customerFlags.given():
		update.Customer = &client.CustomerUpdate{Name: o.Name, Phone: o.Phone, Email: o.Email}
	}
	if update == (client.OrderUpdate{}) && o.HoldUntil == nil {
		return usagef("nothing to change; set --reference, --pickup, --price, --hold-until or a flag of the customer, or remove one with a flag such as --no-reference")
	}
	if o.HoldUntil != nil {
		until, err := o.parseFuture(*o.HoldUntil)
		// An empty value usually comes from an unset shell variable, so it is refused.
		if err == nil && until.IsZero() {
			err = errors.New("the time is missing")
		}
		if err != nil {
			return usagef("--hold-until: %w", err)
		}
		update.HoldExpiresAt = &until
	}
	if err := checkFlags(ifMatchProblem(o.IfMatch, "orders show")); err != nil {
		return err
	}
	return o.write(ctx, func(c *client.Client) error {
		var before client.Order
		var etag string
		if o.IfMatch != nil {
			etag = quotedETag(*o.IfMatch)
		} else {
			var err error
			if before, err = c.GetOrder(ctx, o.ID); err != nil {
				return explainError(ctx, err, false)
			}
			etag = before.ETag
		}
		order, err := c.UpdateOrder(ctx, o.ID, update, client.IfMatch(etag))
		if client.IsCode(err, client.CodePreconditionFailed) {
			return codedError{errConflict("order", o.ID, "orders show"), exitRefused}
		}
		if err != nil {
			return err
		}
		if before.ID == 0 {
			return o.printResult(t, order, "Updated order %d.", order.ID)
		}
		changed := describeChange(toJSON(order), toJSON(before), o.timeFlag)
		if changed == "" {
			return o.printResult(t, order, "Order %d already had these values.", order.ID)
		}
		return o.printResult(t, order, "Changed order %d: %s.", order.ID, changed)
	})
}

// orderStep holds the arguments for commands that change the status of orders.
type orderStep struct {
	storeFlags
	IDs []int64 `arg:"" name:"id" help:"IDs of the orders, as shown by orders list."`
}

// apply calls step for each order and prints the result. sentence contains placeholders for the ids of the order and
// its animal.
func (o orderStep) apply(
	ctx context.Context, t terminal, sentence string, step func(*client.Client, context.Context, int64) (client.Order, error),
) error {
	return o.write(ctx, func(c *client.Client) error {
		return forEachID(ctx, t, o.IDs, func(id int64) error {
			order, err := step(c, ctx, id)
			if err != nil {
				return err
			}
			return o.printResult(t, order, sentence, order.ID, order.PetID)
		})
	})
}

type ordersApprove struct{ orderStep }

func (o *ordersApprove) Run(ctx context.Context, t terminal) error {
	return o.apply(ctx, t, "Approved order %d: it holds animal %d until it is delivered or cancelled.", (*client.Client).ApproveOrder)
}

type ordersDeliver struct{ orderStep }

func (o *ordersDeliver) Run(ctx context.Context, t terminal) error {
	return o.apply(ctx, t, "Delivered order %d: animal %d is sold.", (*client.Client).DeliverOrder)
}

type ordersCancel struct{ orderStep }

func (o *ordersCancel) Run(ctx context.Context, t terminal) error {
	return o.apply(ctx, t, "Cancelled order %d: animal %d is available again.", (*client.Client).CancelOrder)
}

type ordersUndo struct{ orderStep }

func (o *ordersUndo) Run(ctx context.Context, t terminal) error {
	return o.write(ctx, func(c *client.Client) error {
		return forEachID(ctx, t, o.IDs, func(id int64) error {
			order, err := c.UndoOrder(ctx, id)
			if err != nil {
				return err
			}
			return o.printResult(t, order, "Order %d is %s again, and holds animal %d.", order.ID, order.Status, order.PetID)
		})
	})
}

type ordersErase struct {
	storeFlags
	IDs []int64 `arg:"" name:"id" help:"IDs of the orders, as shown by orders list."`
}

func (o *ordersErase) Run(ctx context.Context, t terminal) error {
	return o.write(ctx, func(c *client.Client) error {
		return forEachID(ctx, t, o.IDs, func(id int64) error {
			if err := c.EraseCustomer(ctx, id); err != nil {
				return err
			}
			return o.printResult(t, struct {
				ID int64 `json:"id"`
			}{id}, "Erased the customer of order %d.", id)
		})
	})
}
