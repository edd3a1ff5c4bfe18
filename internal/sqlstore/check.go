package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// ErrOlderSchema is what Check returns for a store that an older version has made: the rules are those of this one.
var ErrOlderSchema = errors.New("its schema is that of an older animalstore, and is brought up to date when this one serves it; its rules were not looked at")

// maxFindings is how many rows that break one rule are told.
const maxFindings = 20

// checkEngine is what a check does differently on each engine.
type checkEngine struct {
	name   string
	begin  string // begins to read one state
	feed   string // all events, also those that nobody has published yet
	newest string // puts those of one subject in order, the newest first
	later  string // the condition that the event d came after e
	idOf   string // the id in the subject of e, which begins with %[1]s and has it from the character %[2]d on
	last   string // the last id that the table %[1]s has given out
	counts string // the inventory, as it was counted with every change
	// schema tells what differs from what the migrations make, and whether the rules can be asked for all the same.
	schema func(context.Context, *checker) (usable bool, err error)
	// integrity tells what the engine itself finds.
	integrity func(context.Context, *checker) error
}

// checker looks through a store, and tells what is wrong with it.
type checker struct {
	*snapshot
	report  func(finding string)
	found   Findings
	horizon int64 // events up to this one were removed for their age
}

// Findings is how much is wrong with a store.
type Findings struct {
	All    int
	Damage int // those of them that the engine itself found: the file is broken
}

// Check looks through a whole store: its schema, the engine's own integrity, and every rule that holds between its rows. It
// calls tell for each finding. It only reads one state, beside a service that may go on.
func Check(ctx context.Context, database string, tell func(finding string)) (Findings, error) {
	l, err := openSnapshot(ctx, database)
	if err != nil {
		return Findings{}, err
	}
	defer l.close()
	c := &checker{snapshot: l, report: tell}
	err = c.check(ctx)
	return c.found, err
}

func (c *checker) finding(format string, args ...any) {
	c.found.All++
	c.report(fmt.Sprintf(format, args...))
}

func (c *checker) damage(format string, args ...any) {
	c.found.Damage++
	c.finding(format, args...)
}

func (c *checker) check(ctx context.Context) error {
	usable, err := c.engine.schema(ctx, c)
	if err == nil {
		err = c.engine.integrity(ctx, c)
	}
	if err != nil {
		return err
	}
	steps, err := readMigrations(c.engine.name)
	if err != nil {
		return err
	}
	if c.version < len(steps) {
		return ErrOlderSchema
	}
	if !usable {
		return nil
	}
	return c.rules(ctx)
}

// rules goes through all rules. What cannot be read for damage is a finding, and the others are looked at all the same.
func (c *checker) rules(ctx context.Context) error {
	checks := []func(context.Context) error{c.checkSettings, c.checkIDs, c.checkInventory}
	for _, rule := range rowRules(c.engine) {
		checks = append(checks, func(ctx context.Context) error { return c.checkRule(ctx, rule) })
	}
	checks = append(checks, c.checkPets, c.checkCategories, c.checkOrders, c.checkKeys, c.checkWebhooks, c.checkDeliveries, c.checkAnswers, c.checkEvents)
	for _, check := range checks {
		if err := c.tolerateDamage(check(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// tolerateDamage makes a finding of damage that keeps SQLite from reading on.
func (c *checker) tolerateDamage(err error) error {
	if code := primaryCode(err); code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB {
		c.damage("it cannot be read: %v", err)
		return nil
	}
	return err
}

// limitedFindings tells of the first rows that break a rule, and that there are more.
type limitedFindings struct {
	*checker
	n int
}

func (s *limitedFindings) finding(format string, args ...any) {
	if s.n++; s.n <= maxFindings {
		s.checker.finding(format, args...)
	} else if s.n == maxFindings+1 {
		s.checker.finding("there are more of these")
	}
}
