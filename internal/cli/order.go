package cli

import (
	"context"

	"animalstore/client"
	"animalstore/internal/shop"
)

type ordersCommands struct {
	exitCodesHelp
	List    ordersList    `cmd:"" help:"List the orders, newest first."`
	Show    ordersShow    `cmd:"" help:"Show one order."`
	Place   ordersPlace   `cmd:"" help:"Order an available animal; the order then holds it."`
	Approve ordersApprove `cmd:"" help:"Approve placed orders; their holds no longer expire."`
	Deliver ordersDeliver `cmd:"" help:"Deliver approved orders; their animals are sold."`
	Cancel  ordersCancel  `cmd:"" help:"Cancel placed or approved orders; their animals are available again."`
}

type ordersList struct {
	storeFlags
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
		p := newPrinter(t, o.outputFlag, orderRow, "ID", "STATUS", "PET", "PLACED", "HELD UNTIL", "REFERENCE")
		filtered := o.Status != "" || o.Pet != nil || o.Search != ""
		return printList(t, o.limitFlags, p, "orders", filtered, func(limit int, cursor string) ([]client.Order, string, error) {
			query.Limit, query.Cursor = limit, cursor
			return c.ListOrders(ctx, query)
		})
	})
}

func orderRow(order client.Order) []string {
	return []string{formatInt(order.ID), string(order.Status), formatInt(order.PetID), formatTime(order.CreatedAt, ""),
		formatTime(order.HoldExpiresAt, "-"), orDash(order.Reference)}
}

type ordersShow struct {
	storeFlags
	ID int64 `arg:"" help:"ID of the order, as shown by orders list."`
}

func (o *ordersShow) Run(ctx context.Context, t terminal) error {
	return o.read(ctx, func(c *client.Client) error {
		order, err := c.GetOrder(ctx, o.ID)
		if err != nil {
			return err
		}
		return o.printFields(t, order, []string{"ID", formatInt(order.ID)}, []string{"STATUS", string(order.Status)},
			[]string{"PET", formatInt(order.PetID)}, []string{"PLACED", formatTime(order.CreatedAt, "")},
			[]string{"CHANGED", formatTime(order.UpdatedAt, "")}, []string{"HELD UNTIL", formatTime(order.HoldExpiresAt, "-")},
			[]string{"REFERENCE", orDash(order.Reference)})
	})
}

type ordersPlace struct {
	storeFlags
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
			order.ID, order.PetID, formatTime(order.HoldExpiresAt, "it ends"))
	})
}

// orderStep holds the arguments for commands that change the status of orders.
type orderStep struct {
	storeFlags
	IDs []int64 `arg:"" name:"id" help:"IDs of the orders, as shown by orders list."`
}

// apply calls step for each order and prints the result. The sentence contains placeholders for the ids of
// the order and its animal.
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
