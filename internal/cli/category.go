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

type categoriesList struct{ onStore }

// Run lists all of them: a shop has few.
func (k *categoriesList) Run(ctx context.Context, t terminal) error {
	return k.look(ctx, func(c *client.Client) error {
		p := newPrinter(t, k.output, func(category client.Category) []string {
			return []string{number(category.ID), orDash(category.Name)}
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
	onStore
	once
	Name string `required:"" placeholder:"NAME" help:"The category's name."`
}

func (k *categoriesAdd) Run(ctx context.Context, t terminal) error {
	if err := checkFlags(textProblem("--name", k.Name), k.once.problem()); err != nil {
		return err
	}
	return k.change(ctx, func(c *client.Client) error {
		category, err := c.CreateCategory(ctx, k.Name, k.options()...)
		if err != nil {
			return err
		}
		return k.say(t, category, "Added category %d, %s.", category.ID, category.Name)
	})
}

type categoriesSet struct {
	onStore
	ID   int64  `arg:"" help:"The category's number."`
	Name string `required:"" placeholder:"NAME" help:"Its name."`
}

func (k *categoriesSet) Run(ctx context.Context, t terminal) error {
	if err := checkFlags(textProblem("--name", k.Name)); err != nil {
		return err
	}
	return k.change(ctx, func(c *client.Client) error {
		category, _, err := c.PutCategory(ctx, k.ID, k.Name)
		if err != nil {
			return err
		}
		return k.say(t, category, "Category %d is called %s.", category.ID, category.Name)
	})
}

type categoriesRemove struct {
	onStore
	IDs []int64 `arg:"" name:"id" help:"The categories' numbers, as categories list shows them."`
}

func (k *categoriesRemove) Run(ctx context.Context, t terminal) error {
	return k.change(ctx, func(c *client.Client) error {
		return each(ctx, t, k.IDs, func(id int64) error {
			if err := c.DeleteCategory(ctx, id); err != nil {
				return err
			}
			return k.done(t, "Removed category %d.", id)
		})
	})
}
