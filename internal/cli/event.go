package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"animalstore/client"
	"animalstore/internal/shop"
)

type eventsCommand struct {
	exitCodesHelp
	storeFlags
	timeFlag
	Follow  bool     `short:"f" help:"Keep printing new events until Ctrl-C or --limit; starts with the next event unless --after, --since or --all is set."`
	After   *string  `placeholder:"ID" help:"Only events after this one; 0 is before the first (default: the latest events)."`
	Type    []string `placeholder:"TYPE" help:"Only events of this type, such as order.placed; can be repeated."`
	Subject string   `placeholder:"PATH" help:"Only events about this resource, such as pets/7 or store/orders/3."`
	Actor   string   `placeholder:"ACTOR" help:"Only changes made by this actor: keys/ID, configured or system."`
	Since   string   `placeholder:"TIME" help:"Only events at this time or later, such as yesterday, 3d (three days ago), 2027-01-31 or 2027-01-31T18:00:00Z."`
	Until   string   `placeholder:"TIME" help:"Only events before this time."`
	limitFlags

	since, until time.Time
}

func (e *eventsCommand) Run(ctx context.Context, t terminal) error {
	if err := e.check(); err != nil {
		return err
	}
	if e.After != nil && (*e.After == "" || strings.Trim(*e.After, "0123456789") != "" || len(*e.After) > 18) {
		// An empty value usually comes from an unset shell variable. If it were ignored, the command would print only
		// the latest events and skip earlier ones.
		return usagef("--after must be the id of an event: 1 to 18 digits")
	}
	if e.After != nil && e.All {
		return usagef("--after and --all are mutually exclusive: --all starts with the first event")
	}
	if err := checkFlags(optionalTextProblem("--subject", e.Subject), e.actorProblem()); err != nil {
		return err
	}
	if err := e.parseTimes(); err != nil {
		return err
	}
	return e.read(ctx, func(c *client.Client) error {
		p := newPrinter(t, e.outputFlag, e.row, "ID", "TIME", "TYPE", "SUBJECT", "BY", "WHAT")
		switch {
		case e.Follow:
			return e.follow(ctx, c, t, p)
		case e.After != nil || e.All:
			return e.list(ctx, c, t, p)
		}
		return e.latest(ctx, c, t, p)
	})
}

// actorProblem checks the value of --actor. An empty value is valid.
func (e *eventsCommand) actorProblem() string {
	if reason := shop.ActorProblem(e.Actor); e.Actor != "" && reason != "" {
		return "--actor " + reason
	}
	return ""
}

// parseTimes parses the values of --since and --until.
func (e *eventsCommand) parseTimes() (err error) {
	if e.since, err = e.parsePast(e.Since); err != nil {
		return usagef("--since: %w", err)
	}
	if e.until, err = e.parsePast(e.Until); err != nil {
		return usagef("--until: %w", err)
	}
	switch {
	case e.Until != "" && e.Follow:
		return usagef("--until and --follow are mutually exclusive: --follow has no end")
	case e.Until != "" && e.until.Before(e.since):
		return usagef("--until must not be before --since")
	}
	return nil
}

// after returns the value of --after, or "" if the flag is not set.
func (e *eventsCommand) after() string {
	if e.After == nil {
		return ""
	}
	return *e.After
}

func (e *eventsCommand) filter() client.EventFilter {
	filter := client.EventFilter{Subject: e.Subject, Actor: e.Actor, Since: e.since}
	for _, name := range e.Type {
		filter.Types = append(filter.Types, client.EventType(name))
	}
	return filter
}

func (e *eventsCommand) printNone(t terminal) error {
	return printEmpty(t, "events", e.After != nil || e.Type != nil || e.Subject != "" || e.Actor != "" || e.Since != "" || e.Until != "")
}

// list prints the events after the one given by --after or, with --all, all events.
func (e *eventsCommand) list(ctx context.Context, c *client.Client, t terminal, p *printer[client.Event]) error {
	n, next, err := printPages(e.limitFlags, p, func(limit int, from string) ([]client.Event, string, error) {
		if from == "" {
			from = e.after()
		}
		return c.ListEvents(ctx, client.EventQuery{EventFilter: e.filter(), Until: e.until, After: from, Limit: limit})
	})
	if err == nil && n == 0 {
		return e.printNone(t)
	}
	if err == nil && next != "" {
		fmt.Fprintf(t.err, "There are more events; continue with --after %s.\n", next)
	}
	return err
}

// latest prints the most recent events.
func (e *eventsCommand) latest(ctx context.Context, c *client.Client, t terminal, p *printer[client.Event]) error {
	found, err := c.LatestEvents(ctx, client.EventQuery{EventFilter: e.filter(), Until: e.until}, e.limit())
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return e.printNone(t)
	}
	for _, event := range found {
		if err := p.print(event); err != nil {
			return err
		}
	}
	return p.flush()
}

// follow prints events as they happen until the command is interrupted. An interruption is not an error.
func (e *eventsCommand) follow(ctx context.Context, c *client.Client, t terminal, p *printer[client.Event]) error {
	if p.table != nil {
		p.table.minWidths(6, 23, 16, 15, 10) // make the columns wide enough that later rows align with the first rows
	}
	after, n := e.after(), 0
	if e.All {
		after = "0"
	}
	if isTerminal(t.err) {
		fmt.Fprintln(t.err, "Waiting for events; press Ctrl-C to stop.")
	}
	for event, err := range c.Follow(ctx, after, e.filter()) {
		if reset, ok := errors.AsType[*client.ResetError](err); ok {
			fmt.Fprintln(t.err, "animalstore:", escapeControls(plainError(reset).Error()))
			continue
		}
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := errors.Join(p.print(event), p.flush()); err != nil {
			return err
		}
		if n++; e.Limit != nil && n == *e.Limit {
			return nil
		}
	}
	return nil
}

// row returns the cells for an event in the table.
func (e *eventsCommand) row(event client.Event) []string {
	return []string{event.ID, event.Time.In(e.zone()).Format("2006-01-02 15:04:05 MST"), string(event.Type), event.Subject, event.Actor,
		describeChange(event.Data.Current, event.Data.Previous, e.timeFlag)}
}
