package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"animalstore/client"
	"animalstore/internal/shop"
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

// parseCategory returns the id of a category. text is either the id or the name of the category. Case and diacritics
// in the name are ignored. parseCategory fails if no category or more than one has the name.
func parseCategory(ctx context.Context, c *client.Client, text string) (int64, error) {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil {
		return id, nil
	}
	if err := checkFlags(textProblem("--category", text)); err != nil {
		return 0, err
	}
	var ids []string
	var found int64
	for category, err := range c.Categories(ctx) {
		if err != nil {
			return 0, explainError(ctx, err, false)
		}
		if shop.FoldSearch(category.Name) == shop.FoldSearch(text) {
			ids, found = append(ids, formatInt(category.ID)), category.ID
		}
	}
	switch len(ids) {
	case 0:
		return 0, codedError{fmt.Errorf("there is no category named %q; see animalstore categories list", text), exitNotFound}
	case 1:
		return found, nil
	}
	return 0, usagef("--category: the name %q belongs to the categories %s; use one of these IDs", text, strings.Join(ids, ", "))
}

// optionalCategory is like parseCategory, but returns nil if text is nil.
func optionalCategory(ctx context.Context, c *client.Client, text *string) (*int64, error) {
	if text == nil {
		return nil, nil
	}
	id, err := parseCategory(ctx, c, *text)
	return &id, err
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
