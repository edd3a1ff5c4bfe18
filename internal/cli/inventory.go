package cli

import (
	"context"

	"animalstore/client"
)

type inventoryCommand struct {
	exitCodesHelp
	storeFlags
}

func (i *inventoryCommand) Run(ctx context.Context, t terminal) error {
	return i.read(ctx, func(c *client.Client) error {
		n, err := c.Inventory(ctx)
		if err != nil {
			return err
		}
		return i.printFields(t, n, []string{"STATUS", "ANIMALS"},
			[]string{"available", formatInt(n.Available)},
			[]string{"pending", formatInt(n.Pending)},
			[]string{"sold", formatInt(n.Sold)},
			[]string{"unspecified", formatInt(n.Unspecified)},
			[]string{"all", formatInt(n.Available + n.Pending + n.Sold + n.Unspecified)})
	})
}
