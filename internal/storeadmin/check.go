package storeadmin

import (
	"context"
	"errors"
	"fmt"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
	"animalstore/internal/sqlstore/sqlite"
)

// ErrOlderSchema is returned by Check if the store's schema is from an older version of animalstore. This version's
// rules do not apply to such a store.
var ErrOlderSchema = errors.New("its schema is of an older animalstore and will be migrated when this one serves it;" +
	" its rules were not checked")

// maxFindings is the maximum number of findings that are reported for one rule.
const maxFindings = 20

// checker checks one snapshot of a store and reports its findings.
type checker struct {
	*sqlstore.Conn
	engine  *engine
	report  func(finding string)
	found   Findings
	horizon int64 // all events up to this position were removed because of their age
	shop    shop.Settings
}

// Findings counts the problems that a check has found.
type Findings struct {
	All    int
	Damage int // number of problems that show damage to the database file itself
}

// Check checks a whole store. It compares the schema with the migrations, runs the engine's own integrity check and
// checks the rules that rows must follow. It calls report for each finding. Check reads one snapshot, so a service may
// use the store at the same time.
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

// rules checks all rules. If damage makes rows unreadable, rules reports a finding and continues with the
// next rule.
func (c *checker) rules(ctx context.Context) error {
	checks := []func(context.Context) error{c.checkSettings, c.checkIDs, c.checkCounts}
	for _, rule := range rowRules(c.engine) {
		checks = append(checks, func(ctx context.Context) error { return c.checkRule(ctx, rule) })
	}
	checks = append(checks, c.checkPets, c.checkProfiles, c.checkEmptyProfiles, c.checkPhotos, c.checkCategories, c.checkOrders, c.checkKeys, c.checkWebhooks,
		c.checkDeliveries, c.checkIdempotencyRecords, c.checkEvents, c.checkStore, c.checkSearch)
	for _, check := range checks {
		if err := c.tolerateDamage(check(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// tolerateDamage reports a finding and returns nil if SQLite returned err because the file is damaged. It
// returns any other error unchanged.
func (c *checker) tolerateDamage(err error) error {
	if sqlite.IsDamaged(err) {
		c.damage("it cannot be read: %v", err)
		return nil
	}
	return err
}

// limitedFindings reports at most maxFindings findings for one rule. If there are more, it adds one finding
// that says so.
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
