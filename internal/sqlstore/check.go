package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// ErrOlderSchema is returned by Check for a store of an older version, to which the rules of this version do
// not apply.
var ErrOlderSchema = errors.New("its schema is of an older animalstore and will be migrated when this one serves it;" +
	" its rules were not checked")

// maxFindings bounds the findings that are reported for one rule.
const maxFindings = 20

// checkEngine has the differences of a check between the engines.
type checkEngine struct {
	name   string
	begin  string // begins a read transaction
	feed   string // selects from all events, including unpublished ones
	newest string // orders the events of a subject, newest first
	later  string // the condition that event d came after event e
	idOf   string // the id in the subject of event e: it starts with %[1]s, and the id is at character %[2]d
	last   string // selects the last id that the table %[1]s has assigned
	counts string // selects the inventory
	// schema reports differences from the migrations, and whether the rules can be checked nevertheless.
	schema func(context.Context, *checker) (usable bool, err error)
	// integrity reports what the engine's own check finds.
	integrity func(context.Context, *checker) error
}

// checker checks a snapshot of a store, and reports findings.
type checker struct {
	*snapshot
	report  func(finding string)
	found   Findings
	horizon int64 // events up to this position were removed by age
}

// Findings counts the findings of a check.
type Findings struct {
	All    int
	Damage int // those that the engine's own check found: the file is damaged
}

// Check checks a whole store: its schema, the engine's own integrity check, and the rules between its rows.
// It calls report for each finding. It reads one snapshot, and a service may go on beside it.
func Check(ctx context.Context, database string, report func(finding string)) (Findings, error) {
	s, err := openSnapshot(ctx, database)
	if err != nil {
		return Findings{}, err
	}
	defer s.close()
	c := &checker{snapshot: s, report: report}
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

// rules checks all rules. A rule that damage makes unreadable is a finding, and the check goes on.
func (c *checker) rules(ctx context.Context) error {
	checks := []func(context.Context) error{c.checkSettings, c.checkIDs, c.checkInventory}
	for _, rule := range rowRules(c.engine) {
		checks = append(checks, func(ctx context.Context) error { return c.checkRule(ctx, rule) })
	}
	checks = append(checks, c.checkPets, c.checkCategories, c.checkOrders, c.checkKeys, c.checkWebhooks,
		c.checkDeliveries, c.checkAnswers, c.checkEvents)
	for _, check := range checks {
		if err := c.tolerateDamage(check(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// tolerateDamage turns an error that SQLite returns for a damaged file into a finding.
func (c *checker) tolerateDamage(err error) error {
	if code := primaryCode(err); code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB {
		c.damage("it cannot be read: %v", err)
		return nil
	}
	return err
}

// limitedFindings reports the first maxFindings findings of a rule.
type limitedFindings struct {
	*checker
	n int
}

func (s *limitedFindings) finding(format string, args ...any) {
	if s.n++; s.n <= maxFindings {
		s.checker.finding(format, args...)
	} else if s.n == maxFindings+1 {
		s.checker.finding("there are more like these")
	}
}
