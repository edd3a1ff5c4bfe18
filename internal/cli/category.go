package cli

import (
	"context"
	"fmt"

	"animalstore/client"
)

type categoriesCommands struct {
	exitCodesHelp
	List   categoriesList   `cmd:"" help:"List the categories by their numbers."`
	Add    categoriesAdd    `cmd:"" help:"Add a category; it gets a number."`
	Set    categoriesSet    `cmd:"" help:"Give a category its name; one that is not there comes into being."`
	Remove categoriesRemove `cmd:"" help:"Remove categories that no animal belongs to."`
}

type categoriesList struct{ storeFlags }

// Run lists all categories: a shop has few.
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
			fmt.Fprintln(t.err, "There are no categories.")
			return nil
		}
		return p.flush()
	})
}

type categoriesAdd struct {
	storeFlags
	idempotencyFlag
	Name string `required:"" placeholder:"NAME" help:"The category's name."`
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
	ID   int64  `arg:"" help:"The category's number."`
	Name string `required:"" placeholder:"NAME" help:"Its name."`
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
		return k.printResult(t, category, "Category %d is called %s.", category.ID, category.Name)
	})
}

type categoriesRemove struct {
	storeFlags
	IDs []int64 `arg:"" name:"id" help:"The categories' numbers, as categories list shows them."`
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
