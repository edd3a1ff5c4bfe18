package cli

import (
	"context"

	"animalstore/client"
	"animalstore/internal/shop"
)

type petsCommands struct {
	exitCodesHelp
	List   petsList   `cmd:"" help:"List the animals, newest first."`
	Show   petsShow   `cmd:"" help:"Show one animal."`
	Add    petsAdd    `cmd:"" help:"Add an animal."`
	Set    petsSet    `cmd:"" help:"Change an animal."`
	Remove petsRemove `cmd:"" help:"Remove animals."`
}

type petsList struct {
	onStore
	Status   string  `placeholder:"STATUS" help:"Only those that are available, pending or sold."`
	Category *int64  `placeholder:"ID" help:"Only those of this category."`
	Search   string  `placeholder:"TEXT" help:"Only those whose name contains this, in whatever letter case."`
	ID       []int64 `name:"id" placeholder:"ID" help:"Only these; can be given several times."`
	some
}

func (p *petsList) Run(ctx context.Context, t terminal) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := checkFlags(statusProblem(p.Status, shop.StatusProblem), optionalProblem("--search", p.Search)); err != nil {
		return err
	}
	if len(p.ID) > largestPage {
		return usagef("--id: it can be given %d times at most", largestPage)
	}
	return p.look(ctx, func(c *client.Client) error {
		query := client.PetQuery{Status: client.PetStatus(p.Status), CategoryID: p.Category, Text: p.Search, IDs: p.ID}
		things := "animals"
		if p.Status != "" || p.Category != nil || p.Search != "" || p.ID != nil {
			things += " like that"
		}
		return showList(t, p.some, newPrinter(t, p.output, petRow, "ID", "STATUS", "CATEGORY", "NAME"), things,
			func(limit int, from string) ([]client.Pet, string, error) {
				query.Limit, query.Cursor = limit, from
				return c.ListPets(ctx, query)
			})
	})
}

func petRow(pet client.Pet) []string {
	return []string{number(pet.ID), orDash(string(pet.Status)), number(pet.CategoryID), pet.Name}
}

type petsShow struct {
	onStore
	ID int64 `arg:"" help:"The animal's number, as pets list shows it."`
}

func (p *petsShow) Run(ctx context.Context, t terminal) error {
	return p.look(ctx, func(c *client.Client) error {
		pet, err := c.GetPet(ctx, p.ID)
		if err != nil {
			return err
		}
		category := number(pet.CategoryID)
		if !p.isJSON() {
			if known, err := c.GetCategory(ctx, pet.CategoryID); err == nil && known.Name != "" {
				category += " (" + known.Name + ")"
			}
		}
		return p.card(t, pet, []string{"ID", number(pet.ID)}, []string{"NAME", pet.Name}, []string{"CATEGORY", category},
			[]string{"STATUS", orDash(string(pet.Status))}, []string{"ETAG", pet.ETag})
	})
}
