package storeadmin

import (
	"context"
	"errors"
	"fmt"

	"animalstore/internal/sqlstore"
)

// ErrOlderSchema is returned by Check for a store of an older version, to which the rules of this version do
// not apply.
var ErrOlderSchema = errors.New("its schema is of an older animalstore and will be migrated when this one serves it;" +
	" its rules were not checked")

// maxFindings bounds the findings that are reported for one rule.
const maxFindings = 20

// checker checks a snapshot of a store, and reports findings.
type checker struct {
	*sqlstore.Conn
	engine  *engine
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
	conn, err := openSnapshot(ctx, database)
	if err != nil {
		return Findings{}, err
	}
	defer conn.Close()
	c := &checker{Conn: conn, engine: engineOf(conn), report: report}
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
	steps, err := sqlstore.Migrations(c.Engine)
	if err != nil {
		return err
	}
	if c.Version < len(steps) {
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
	if sqlstore.IsDamaged(err) {
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
