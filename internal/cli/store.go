package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"animalstore/client"
	"animalstore/internal/shop"
)

type storeCommands struct {
	exitCodesHelp
	Show storeShow `cmd:"" help:"Show what the store says about itself, such as its name and its time zone."`
	Set  storeSet  `cmd:"" help:"Change what the store says about itself; needs a key with the scope admin."`
}

type storeShow struct{ storeFlags }

func (s *storeShow) Run(ctx context.Context, t terminal) error {
	return s.read(ctx, func(c *client.Client) error {
		store, err := c.GetStore(ctx)
		if err != nil {
			return err
		}
		return s.printFields(t, store, storeLines(store)...)
	})
}

// storeLines returns the members of a store that are set, for people to read.
func storeLines(s client.Store) (lines [][]string) {
	add := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				lines = append(lines, []string{name, value})
				name = "" // further lines belong to the same member
			}
		}
	}
	add("NAME", s.Name)
	add("PHONE", s.Phone)
	add("EMAIL", s.Email)
	add("ADDRESS", s.Address...)
	add("WEBSITE", s.Website)
	add("CURRENCY", s.Currency)
	add("TIME ZONE", s.TimeZone)
	add("KIND", string(s.Kind))
	add("WINDOW", map[bool]string{true: "open", false: "closed"}[s.Window.Enabled])
	add("TITLE", s.Window.Title)
	add("INTRODUCTION", strings.Split(s.Window.Introduction, "\n")...)
	add("EMBEDDED BY", s.Window.EmbedOrigins...)
	return lines
}

type storeSet struct {
	storeFlags
	Name         *string  `placeholder:"NAME" help:"Name of the store."`
	Phone        *string  `placeholder:"NUMBER" help:"Number to call."`
	Email        *string  `placeholder:"ADDRESS" help:"Address to write to."`
	Address      []string `sep:"none" placeholder:"LINE" help:"Line of the postal address; can be given up to 5 times, and replaces all earlier lines."`
	Website      *string  `placeholder:"URL" help:"Website, an https: URL."`
	Currency     *string  `placeholder:"CODE" help:"Currency of amounts that somebody types without one, such as EUR."`
	TimeZone     *string  `name:"time-zone" placeholder:"ZONE" help:"Time zone, such as Europe/Berlin; used instead of serve --time-zone."`
	Kind         *string  `placeholder:"KIND" help:"shop or shelter, which decides the words on the staff pages."`
	Window       *string  `placeholder:"YES/NO" help:"Whether the public window is open: yes or no."`
	Title        *string  `name:"window-title" placeholder:"TEXT" help:"Title of the window."`
	Introduction *string  `name:"window-introduction" placeholder:"TEXT" help:"Text above the animals in the window; may have several lines."`
	EmbedOrigin  []string `name:"embed-origin" placeholder:"ORIGIN" help:"Site that may show the window in a frame, such as https://www.example.com; can be repeated, and replaces all earlier ones."`
	Remove       []string `placeholder:"MEMBER" help:"Member to remove, such as phone, timeZone or window.title; can be repeated."`
}

// removableSettings are the members of a store that --remove accepts.
var removableSettings = []string{
	"name", "phone", "email", "address", "website", "currency", "timeZone", "window.title", "window.introduction", "window.embedOrigins",
}

// update returns the change that the flags describe.
func (s *storeSet) update() (client.StoreUpdate, error) {
	u := client.StoreUpdate{
		Name: s.Name, Phone: s.Phone, Email: s.Email, Address: s.Address, Website: s.Website, Currency: s.Currency, TimeZone: s.TimeZone,
		Kind: (*client.StoreKind)(s.Kind), Remove: s.Remove,
	}
	if s.Window != nil || s.Title != nil || s.Introduction != nil || s.EmbedOrigin != nil {
		u.Window = &client.WindowUpdate{Enabled: isYes(s.Window), Title: s.Title, Introduction: s.Introduction, EmbedOrigins: s.EmbedOrigin}
	}
	err := checkFlags(
		valueProblem("--name", s.Name, shop.TextProblem), valueProblem("--phone", s.Phone, shop.TextProblem), valueProblem("--email", s.Email, shop.EmailProblem),
		valuesProblem("--address", s.Address, shop.TextProblem), valueProblem("--website", s.Website, shop.WebsiteProblem),
		valueProblem("--currency", s.Currency, shop.CurrencyProblem), valueProblem("--kind", s.Kind, shop.KindProblem),
		valueProblem("--time-zone", s.TimeZone, shop.TimeZoneProblem), valueProblem("--window", s.Window, yesProblem),
		valueProblem("--window-title", s.Title, shop.TextProblem), valueProblem("--window-introduction", s.Introduction, shop.IntroductionProblem),
		valuesProblem("--embed-origin", s.EmbedOrigin, shop.EmbedOriginProblem), valuesProblem("--remove", s.Remove, func(member string) string {
			if slices.Contains(removableSettings, member) {
				return ""
			}
			return "must be one of " + strings.Join(removableSettings, ", ")
		}))
	if err == nil && string(toJSON(u)) == "{}" {
		err = usagef("nothing to change; set --name, --time-zone or another member of the store")
	}
	return u, err
}

// Run changes the store, unless somebody else changes it at the same time, and describes the change.
func (s *storeSet) Run(ctx context.Context, t terminal) error {
	update, err := s.update()
	if err != nil {
		return err
	}
	return s.write(ctx, func(c *client.Client) error {
		before, err := c.GetStore(ctx)
		if err != nil {
			return err
		}
		after, err := c.UpdateStore(ctx, update, client.IfMatch(before.ETag))
		if client.IsCode(err, client.CodePreconditionFailed) {
			return codedError{errors.New("the store was changed in the meantime, so it was left alone: check it with animalstore store show and try again"), exitRefused}
		}
		if err != nil {
			return err
		}
		changed := describeChange(toJSON(after), toJSON(before), timeFlag{})
		if changed == "" {
			return s.printResult(t, after, "The store already had these values.")
		}
		return s.printResult(t, after, "Changed the store: %s.", changed)
	})
}
