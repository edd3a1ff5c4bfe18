package cli

import (
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
	Set     ordersSet     `cmd:"" help:"Change the reference of an open order, or the end of its hold."`
	Approve ordersApprove `cmd:"" help:"Approve placed orders; their holds no longer expire."`
	Deliver ordersDeliver `cmd:"" help:"Deliver approved orders; their animals are sold."`
	Cancel  ordersCancel  `cmd:"" help:"Cancel placed or approved orders; their animals are available again."`
	Undo    ordersUndo    `cmd:"" help:"Take back the last step of orders, within 24 hours."`
}

type ordersList struct {
	storeFlags
	timeFlag
	Status string `placeholder:"STATUS" help:"Only orders with this status: placed, approved, delivered, cancelled or expired."`
	Pet    *int64 `placeholder:"ID" help:"Only orders for this animal."`
	Search string `placeholder:"TEXT" help:"Only orders whose reference contains every word of this text, ignoring case and diacritics."`
	limitFlags
}

func (o *ordersList) Run(ctx context.Context, t terminal) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := checkFlags(statusProblem(o.Status, shop.OrderStatusProblem), optionalTextProblem("--search", o.Search)); err != nil {
		return err
	}
	query := client.OrderQuery{Status: client.OrderStatus(o.Status), Text: o.Search}
	if o.Pet != nil {
		if query.PetID = *o.Pet; query.PetID < 1 {
			return usagef("--pet must be the id of an animal, 1 or more")
		}
	}
	return o.read(ctx, func(c *client.Client) error {
		pets := nameTable{}
		row := func(order client.Order) []string {
			return []string{formatInt(order.ID), string(order.Status), pets.label(order.PetID), o.format(order.CreatedAt, ""),
				o.format(order.HoldExpiresAt, "-"), orDash(order.Reference)}
		}
		p := newPrinter(t, o.outputFlag, row, "ID", "STATUS", "PET", "PLACED", "HELD UNTIL", "REFERENCE")
		filtered := o.Status != "" || o.Pet != nil || o.Search != ""
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
		return o.printFields(t, order, []string{"ID", formatInt(order.ID)}, []string{"STATUS", string(order.Status)},
			[]string{"PET", pets.label(order.PetID)}, []string{"PLACED", o.format(order.CreatedAt, "")},
			[]string{"CHANGED", o.format(order.UpdatedAt, "")}, []string{"HELD UNTIL", o.format(order.HoldExpiresAt, "-")},
			[]string{"REFERENCE", orDash(order.Reference)}, []string{"ETAG", order.ETag})
	})
}

type ordersPlace struct {
	storeFlags
	timeFlag
	idempotencyFlag
	Pet       int64  `required:"" placeholder:"ID" help:"ID of the animal, as shown by pets list."`
	Reference string `placeholder:"TEXT" help:"Text of your choice, up to 200 characters, such as the name of the customer."`
}

func (o *ordersPlace) Run(ctx context.Context, t terminal) error {
	if err := checkFlags(optionalTextProblem("--reference", o.Reference), o.idempotencyFlag.problem()); err != nil {
		return err
	}
	return o.write(ctx, func(c *client.Client) error {
		order, err := c.PlaceOrder(ctx, client.NewOrder{PetID: o.Pet, Reference: o.Reference}, o.options()...)
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
	HoldUntil   *string `name:"hold-until" placeholder:"TIME" help:"When the hold expires, such as 3d, 2027-01-31 or 2027-01-31T18:00:00Z; at most a year ahead."`
	IfMatch     *string `name:"if-match" placeholder:"ETAG" help:"Only if the order still has this ETag, as printed by orders show; * matches any (default: its ETag when the command starts)."`
}

func (o *ordersSet) Run(ctx context.Context, t terminal) error {
	update := client.OrderUpdate{Reference: o.Reference}
	switch {
	case o.Reference != nil:
		if err := checkFlags(textProblem("--reference", *o.Reference)); err != nil {
			return err
		}
	case o.NoReference:
		update.Reference = new("")
	case o.HoldUntil == nil:
		return usagef("nothing to change; set --reference, --no-reference or --hold-until")
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
