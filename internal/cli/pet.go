package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"animalstore/client"
	"animalstore/internal/shop"
)

type petsCommands struct {
	exitCodesHelp
	List      petsList      `cmd:"" help:"List the animals, newest first."`
	Show      petsShow      `cmd:"" help:"Show one animal with its profile."`
	Add       petsAdd       `cmd:"" help:"Add an animal."`
	Set       petsSet       `cmd:"" help:"Change an animal or its profile."`
	Publish   petsPublish   `cmd:"" help:"Publish the profiles of animals."`
	Unpublish petsUnpublish `cmd:"" help:"Publish the profiles of animals no longer."`
	Remove    petsRemove    `cmd:"" help:"Remove animals."`
	Restore   petsRestore   `cmd:"" help:"Bring removed animals back, as they were when they were removed."`
}

type petsList struct {
	storeFlags
	Status   string  `placeholder:"STATUS" help:"Only animals with this status: available, pending or sold."`
	Category *string `placeholder:"CATEGORY" help:"Only animals of this category: its ID or its name."`
	Search   string  `placeholder:"TEXT" help:"Only animals whose name contains every word of this text, ignoring case and diacritics."`
	ID       []int64 `name:"id" placeholder:"ID" help:"Only these animals; can be repeated."`
	limitFlags
}

func (p *petsList) Run(ctx context.Context, t terminal) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := checkFlags(statusProblem(p.Status, shop.StatusProblem), optionalTextProblem("--search", p.Search)); err != nil {
		return err
	}
	if len(p.ID) > maxPageSize {
		return usagef("--id: at most %d ids are allowed", maxPageSize)
	}
	return p.read(ctx, func(c *client.Client) error {
		category, err := optionalCategory(ctx, c, p.Category)
		if err != nil {
			return err
		}
		query := client.PetQuery{Status: client.PetStatus(p.Status), CategoryID: category, Text: p.Search, IDs: p.ID}
		filtered := p.Status != "" || p.Category != nil || p.Search != "" || p.ID != nil
		var categories nameTable
		row := func(pet client.Pet) []string {
			if categories == nil {
				categories = categoryNames(ctx, c)
			}
			return []string{formatInt(pet.ID), orDash(string(pet.Status)), categories.label(pet.CategoryID), pet.Name}
		}
		rows := newPrinter(t, p.outputFlag, row, "ID", "STATUS", "CATEGORY", "NAME")
		return printList(t, p.limitFlags, rows, "animals", filtered, func(limit int, cursor string) ([]client.Pet, string, error) {
			query.Limit, query.Cursor = limit, cursor
			return c.ListPets(ctx, query)
		})
	})
}

type petsShow struct {
	storeFlags
	ID      int64 `arg:"" help:"ID of the animal, as shown by pets list."`
	Profile bool  `help:"With --output json, print the profile, which contains the animal, instead of the animal alone."`
}

func (p *petsShow) Run(ctx context.Context, t terminal) error {
	return p.read(ctx, func(c *client.Client) error {
		pet, err := c.GetPet(ctx, p.ID)
		if err != nil {
			return err
		}
		if p.isJSON() && !p.Profile {
			return p.printFields(t, pet)
		}
		profile, err := c.GetProfile(ctx, p.ID)
		if err != nil {
			return err
		}
		category := formatInt(pet.CategoryID)
		if !p.isJSON() {
			if known, err := c.GetCategory(ctx, pet.CategoryID); err == nil && known.Name != "" {
				category += " (" + known.Name + ")"
			}
		}
		lines := [][]string{{"ID", formatInt(pet.ID)}, {"NAME", pet.Name}, {"CATEGORY", category}, {"STATUS", orDash(string(pet.Status))}, {"ETAG", pet.ETag}}
		return p.printFields(t, profile, append(lines, profileLines(profile)...)...)
	})
}

type petsAdd struct {
	storeFlags
	idempotencyFlag
	Name     string `required:"" placeholder:"NAME" help:"Name of the animal."`
	Category string `required:"" placeholder:"CATEGORY" help:"Its category: the ID, created if missing, or the name."`
	Status   string `placeholder:"STATUS" help:"available, pending or sold (default: none)."`
}

func (p *petsAdd) Run(ctx context.Context, t terminal) error {
	err := checkFlags(textProblem("--name", p.Name), statusProblem(p.Status, shop.StatusProblem), p.idempotencyFlag.problem())
	if err != nil {
		return err
	}
	return p.write(ctx, func(c *client.Client) error {
		category, err := parseCategory(ctx, c, p.Category)
		if err != nil {
			return err
		}
		wanted := client.NewPet{Name: p.Name, CategoryID: category, Status: client.PetStatus(p.Status)}
		pet, err := c.CreatePet(ctx, wanted, p.options()...)
		if err != nil {
			return err
		}
		return p.printResult(t, pet, "Added animal %d, %s.", pet.ID, pet.Name)
	})
}

type petsSet struct {
	storeFlags
	ID       int64   `arg:"" help:"ID of the animal, as shown by pets list."`
	Name     *string `placeholder:"NAME" help:"New name."`
	Category *string `placeholder:"CATEGORY" help:"New category: its ID or its name."`
	Status   string  `placeholder:"STATUS" help:"available, pending or sold."`
	IfMatch  *string `name:"if-match" placeholder:"ETAG" help:"Only if the animal still has this ETag, as printed by pets show; * matches any (default: its ETag when the command starts)."`
	profileFlags
}

func (p *petsSet) Run(ctx context.Context, t terminal) error {
	profile, hasProfile, err := p.profileFlags.update()
	if err != nil {
		return err
	}
	hasPet := p.Name != nil || p.Category != nil || p.Status != ""
	if !hasPet && !hasProfile {
		return usagef("nothing to change; set --name, --category, --status or a member of the profile")
	}
	update := client.PetUpdate{Name: p.Name}
	if p.Name != nil {
		if err := checkFlags(textProblem("--name", *p.Name)); err != nil {
			return err
		}
	}
	if p.Status != "" {
		update.Status = new(client.PetStatus(p.Status))
	}
	if err := checkFlags(statusProblem(p.Status, shop.StatusProblem), ifMatchProblem(p.IfMatch, "pets show")); err != nil {
		return err
	}
	return p.write(ctx, func(c *client.Client) (err error) {
		if !hasPet && p.IfMatch == nil {
			return p.setProfile(ctx, t, c, profile)
		}
		if update.CategoryID, err = optionalCategory(ctx, c, p.Category); err != nil {
			return err
		}
		var before client.Pet
		var etag string
		if p.IfMatch != nil {
			etag = quotedETag(*p.IfMatch)
		} else {
			var err error
			if before, err = c.GetPet(ctx, p.ID); err != nil {
				return explainError(ctx, err, false)
			}
			etag = before.ETag
		}
		pet, err := c.UpdatePet(ctx, p.ID, update, client.IfMatch(etag))
		if client.IsCode(err, client.CodePreconditionFailed) {
			return codedError{errConflict("animal", p.ID, "pets show"), exitRefused}
		}
		if err != nil {
			return err
		}
		if hasPet && (!hasProfile || !p.isJSON()) { // a profile in JSON contains its animal
			if err := p.printChange(t, pet, before); err != nil {
				return err
			}
		}
		if hasProfile {
			return p.setProfile(ctx, t, c, profile)
		}
		return nil
	})
}

// printChange describes a change of an animal. before is empty if it is not known.
func (p *petsSet) printChange(t terminal, pet, before client.Pet) error {
	if before.ID == 0 {
		return p.printResult(t, pet, "Updated animal %d, %s.", pet.ID, pet.Name)
	}
	changed := describeChange(toJSON(pet), toJSON(before), timeFlag{})
	if changed == "" {
		return p.printResult(t, pet, "Animal %d, %s, already had these values.", pet.ID, pet.Name)
	}
	return p.printResult(t, pet, "Changed animal %d, %s: %s.", pet.ID, pet.Name, changed)
}

type petsRemove struct {
	storeFlags
	IDs     []int64 `arg:"" name:"id" help:"IDs of the animals, as shown by pets list."`
	IfMatch *string `name:"if-match" placeholder:"ETAG" help:"Only if the animal still has this ETag, as printed by pets show."`
}

func (p *petsRemove) Run(ctx context.Context, t terminal) error {
	var conditions []client.Condition
	if err := checkFlags(ifMatchProblem(p.IfMatch, "pets show")); err != nil {
		return err
	}
	if p.IfMatch != nil {
		if len(p.IDs) > 1 {
			return usagef("--if-match: an ETag belongs to one animal; remove them one at a time")
		}
		conditions = append(conditions, client.IfMatch(quotedETag(*p.IfMatch)))
	}
	return p.write(ctx, func(c *client.Client) error {
		return forEachID(ctx, t, p.IDs, func(id int64) error {
			err := c.DeletePet(ctx, id, conditions...)
			if client.IsCode(err, client.CodePreconditionFailed) {
				return codedError{errConflict("animal", id, "pets show"), exitRefused}
			}
			if err != nil {
				return err
			}
			return p.printDone(t, "Removed animal %d.", id)
		})
	})
}

type petsRestore struct {
	storeFlags
	IDs []int64 `arg:"" name:"id" help:"IDs of the removed animals, as shown by events --type pet.deleted."`
}

func (p *petsRestore) Run(ctx context.Context, t terminal) error {
	return p.write(ctx, func(c *client.Client) error {
		return forEachID(ctx, t, p.IDs, func(id int64) error {
			pet, err := c.RestorePet(ctx, id)
			if err != nil {
				return err
			}
			return p.printResult(t, pet, "Restored animal %d, %s.", pet.ID, pet.Name)
		})
	})
}

// errConflict returns the error for a resource that no longer has the expected ETag. show is the command that shows
// the resource.
func errConflict(resource string, id int64, show string) error {
	return fmt.Errorf("%s %d was changed in the meantime, so it was left alone: check it with animalstore %s %d and try again", resource, id, show, id)
}

// ifMatchProblem checks the value of --if-match, which may be omitted. An empty value usually comes from an unset
// shell variable. If it were ignored, the change would be unconditional. show is the command that prints ETags.
func ifMatchProblem(etag *string, show string) string {
	if etag != nil && *etag == "" {
		return "--if-match must be an ETag as printed by " + show + ", or *"
	}
	return ""
}

// quotedETag adds quotes to an ETag if the shell has removed them.
func quotedETag(etag string) string {
	if etag == "*" || strings.HasSuffix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}

// toJSON encodes an object from the API as JSON.
func toJSON(thing any) []byte {
	text, _ := json.Marshal(thing) // Marshal cannot fail, because the object was decoded from JSON
	return text
}
