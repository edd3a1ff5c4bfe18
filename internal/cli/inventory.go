package cli

import (
	"context"

	"animalstore/client"
)

type inventoryCommand struct {
	exitCodesHelp
	onStore
}

func (i *inventoryCommand) Run(ctx context.Context, t terminal) error {
	return i.look(ctx, func(c *client.Client) error {
		n, err := c.Inventory(ctx)
		if err != nil {
			return err
		}
		return i.card(t, n, []string{"STATUS", "ANIMALS"},
			[]string{"available", number(n.Available)}, []string{"pending", number(n.Pending)}, []string{"sold", number(n.Sold)},
			[]string{"unspecified", number(n.Unspecified)}, []string{"all", number(n.Available + n.Pending + n.Sold + n.Unspecified)})
	})
}
