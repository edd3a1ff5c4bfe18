package cli

import (
	"context"

	"animalstore/client"
)

type categoriesCommands struct {
	exitCodesHelp
	List   categoriesList   `cmd:"" help:"List the categories by id."`
	Add    categoriesAdd    `cmd:"" help:"Add a category; the service assigns its id."`
	Set    categoriesSet    `cmd:"" help:"Name a category; created if missing."`
	Remove categoriesRemove `cmd:"" help:"Remove categories that have no animals."`
}

type categoriesList struct{ storeFlags }

// Run lists all categories without a limit, because a shop has only a few.
func (k *categoriesList) Run(ctx context.Context, t terminal) error {
	return k.read(ctx, func(c *client.Client) error {
		p := newPrinter(t, k.outputFlag, func(category client.Category) []string {
			return []string{formatInt(category.ID), orDash(category.Name)}
		}, "ID", "NAME")
		n := 0
		for category, err := range c.Categories(ctx) {
			if err != nil {
				return err
			}
			if err := p.print(category); err != nil {
				return err
			}
			n++
		}
		if n == 0 {
			return printEmpty(t, "categories", false)
		}
		return p.flush()
	})
}

type categoriesAdd struct {
	storeFlags
	idempotencyFlag
	Name string `required:"" placeholder:"NAME" help:"Name of the category."`
}

func (k *categoriesAdd) Run(ctx context.Context, t terminal) error {
	if err := checkFlags(textProblem("--name", k.Name), k.idempotencyFlag.problem()); err != nil {
		return err
	}
	return k.write(ctx, func(c *client.Client) error {
		category, err := c.CreateCategory(ctx, k.Name, k.options()...)
		if err != nil {
			return err
		}
		return k.printResult(t, category, "Added category %d, %s.", category.ID, category.Name)
	})
}

type categoriesSet struct {
	storeFlags
	ID   int64  `arg:"" help:"ID of the category."`
	Name string `required:"" placeholder:"NAME" help:"Name of the category."`
}

func (k *categoriesSet) Run(ctx context.Context, t terminal) error {
	if err := checkFlags(textProblem("--name", k.Name)); err != nil {
		return err
	}
	return k.write(ctx, func(c *client.Client) error {
		category, _, err := c.PutCategory(ctx, k.ID, k.Name)
		if err != nil {
			return err
		}
		return k.printResult(t, category, "Category %d is now named %s.", category.ID, category.Name)
	})
}

type categoriesRemove struct {
	storeFlags
	IDs []int64 `arg:"" name:"id" help:"IDs of the categories, as shown by categories list."`
}

func (k *categoriesRemove) Run(ctx context.Context, t terminal) error {
	return k.write(ctx, func(c *client.Client) error {
		return forEachID(ctx, t, k.IDs, func(id int64) error {
			if err := c.DeleteCategory(ctx, id); err != nil {
				return err
			}
			return k.printDone(t, "Removed category %d.", id)
		})
	})
}
