package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// newestEvent is the newest event of a row, as a column of its own.
func (c *checker) newestEvent(table, begins string) string {
	return "(SELECT data FROM " + c.engine.feed + " e WHERE e.subject = '" + begins + "' || " + table + ".id ORDER BY " + c.engine.newest + " LIMIT 1)"
}

// checkResources goes through all things of one kind, one by one: look is what its own rules find, and its newest event must
// tell of it as it is. scan reads a thing, and the columns that follow it.
func checkResources[T any](ctx context.Context, c *checker, table, columns string, scan func(scan scanner, told *sql.NullString) (T, int64, error),
	look func(T) string, same func(row, told T) bool) error {
	begins := ""
	for _, s := range subjects {
		if s.table == table {
			begins = s.begins
		}
	}
	few := limitedFindings{checker: c}
	return c.each(ctx, "SELECT "+columns+", "+c.newestEvent(table, begins)+" FROM "+table+" ORDER BY id", func(row scanner) error {
		var told sql.NullString
		thing, id, err := scan(row, &told)
		if err != nil {
			return fmt.Errorf("%s %d: %w", table, id, err)
		}
		if problem := look(thing); problem != "" {
			few.finding("%s %d: %s", table, id, problem)
		}
		if !told.Valid {
			if c.horizon == 0 {
				few.finding("%s %d: no event tells of it", table, id)
			}
			return nil
		}
		var data struct{ Current *T }
		switch err := json.Unmarshal([]byte(told.String), &data); {
		case err != nil:
			few.finding("%s %d: its newest event cannot be read: %v", table, id, err)
		case data.Current == nil:
			few.finding("%s %d: its newest event says that it is gone", table, id)
		case !same(thing, *data.Current):
			few.finding("%s %d: its newest event tells of it otherwise", table, id)
		}
		return nil
	})
}

func (c *checker) checkPets(ctx context.Context) error {
	type pet struct {
		shop.Pet
		folded string
	}
	return checkResources(ctx, c, "pets", petColumns+", name_folded", func(scan scanner, told *sql.NullString) (p pet, id int64, err error) {
		p.Pet, err = scanPets()(func(columns ...any) error { return scan(append(columns, &p.folded, told)...) })
		return p, p.ID, err
	}, func(p pet) string {
		if problem := shop.TextProblem(p.Name); problem != "" {
			return "its name " + problem
		}
		if p.folded != shop.Fold(p.Name) {
			return fmt.Sprintf("it is searched for as %q, and its name is %q", p.folded, p.Name)
		}
		return ""
	}, func(row, told pet) bool { return row.Pet == told.Pet })
}

func (c *checker) checkCategories(ctx context.Context) error {
	return checkResources(ctx, c, "categories", "id, name", func(scan scanner, told *sql.NullString) (shop.Category, int64, error) {
		category, err := scanCategory(func(columns ...any) error { return scan(append(columns, told)...) })
		return category, category.ID, err
	}, func(category shop.Category) string {
		if problem := shop.TextProblem(category.Name); category.Name != "" && problem != "" {
			return "its name " + problem
		}
		return ""
	}, func(row, told shop.Category) bool { return row == told })
}

func (c *checker) checkOrders(ctx context.Context) error {
	return checkResources(ctx, c, "orders", orderColumns, func(scan scanner, told *sql.NullString) (shop.Order, int64, error) {
		order, err := scanOrder(func(columns ...any) error { return scan(append(columns, told)...) })
		return order, order.ID, err
	}, func(order shop.Order) string {
		if problem := shop.TextProblem(order.Reference); order.Reference != "" && problem != "" {
			return "its reference " + problem
		}
		return ""
	}, func(row, told shop.Order) bool { return row == told })
}

func (c *checker) checkKeys(ctx context.Context) error {
	return checkResources(ctx, c, "keys", keyColumns, func(scan scanner, told *sql.NullString) (shop.Key, int64, error) {
		key, err := scanKeyWith(scan, told)
		return key, key.ID, err
	}, func(key shop.Key) string {
		return firstProblem(shop.NewKey{Name: key.Name, Scopes: key.Scopes}.Problems(key.CreatedAt)) // its end may have passed
	}, func(row, told shop.Key) bool {
		row.LastUsedAt, told.LastUsedAt = time.Time{}, time.Time{} // a use is no change
		return slices.Equal(row.Scopes, told.Scopes) && fmt.Sprint(row) == fmt.Sprint(told)
	})
}

func (c *checker) checkWebhooks(ctx context.Context) error {
	return checkResources(ctx, c, "webhooks", webhookColumns, func(scan scanner, told *sql.NullString) (shop.Webhook, int64, error) {
		hook, err := scanWebhook(func(columns ...any) error { return scan(append(columns, told)...) })
		return hook, hook.ID, err
	}, func(hook shop.Webhook) string {
		return firstProblem(shop.NewWebhook{URL: hook.URL, Types: hook.Types}.Problems())
	}, func(row, told shop.Webhook) bool {
		row.FailingSince, told.FailingSince = time.Time{}, time.Time{} // nor is an attempt
		row.Position, told.Position = 0, 0
		return slices.Equal(row.Types, told.Types) && fmt.Sprint(row) == fmt.Sprint(told)
	})
}

// firstProblem says the first of what is wrong with a thing, or "".
func firstProblem(problems shop.Problems) string {
	for member, reason := range problems.All() {
		return member + " " + reason
	}
	return ""
}

func (c *checker) checkDeliveries(ctx context.Context) error {
	few := limitedFindings{checker: c}
	return c.each(ctx, "SELECT id, attempts, body FROM deliveries ORDER BY id", func(scan scanner) error {
		var id int64
		var attempts, body string
		if err := scan(&id, &attempts, &body); err != nil {
			return err
		}
		var list []shop.Attempt
		if err := json.Unmarshal([]byte(attempts), &list); err != nil {
			few.finding("deliveries %d: its attempts cannot be read: %v", id, err)
		}
		if !json.Valid([]byte(body)) {
			few.finding("deliveries %d: its message is no JSON", id)
		}
		return nil
	})
}

func (c *checker) checkAnswers(ctx context.Context) error {
	few := limitedFindings{checker: c}
	return c.each(ctx, "SELECT principal, key, status, header, length(fingerprint) FROM kept_answers ORDER BY principal, key", func(scan scanner) error {
		var principal, status, length int64
		var key, header string
		if err := scan(&principal, &key, &status, &header, &length); err != nil {
			return err
		}
		var fields map[string]string
		if err := json.Unmarshal([]byte(header), &fields); err != nil || status < 200 || status > 299 || length != 32 {
			few.finding("kept_answers of the key %d, %q: it cannot be answered again", principal, key)
		}
		return nil
	})
}

// checkEvents looks at what each event says, and where it stands.
func (c *checker) checkEvents(ctx context.Context) error {
	var undone []rewind
	err := c.each(ctx, "SELECT value FROM settings WHERE name = '"+rewindSetting+"'", func(scan scanner) error {
		var text string
		err := scan(&text)
		undone, _ = parseRewinds(text)
		return err
	})
	if err != nil {
		return err
	}
	few := limitedFindings{checker: c}
	return c.each(ctx, "SELECT "+eventColumns+" FROM events ORDER BY id", func(scan scanner) error {
		event, err := scanEvent(scan)
		if err != nil {
			return err
		}
		var data map[string]json.RawMessage
		switch err := json.Unmarshal(event.Data, &data); {
		case err != nil || data["current"] == nil || data["previous"] == nil:
			few.finding("events %d: its data does not say what is now and what was before", event.ID)
		case !typeFitsSubject(event):
			few.finding("events %d: nothing of the type %q happens to %q", event.ID, event.Type, event.Subject)
		case event.ID <= c.horizon:
			few.finding("events %d: it is there, but those up to %d were removed for their age", event.ID, c.horizon)
		case resumeAfter(undone, event.ID) > 0:
			few.finding("events %d: it is there, but a restore has undone it", event.ID)
		}
		return nil
	})
}

// typeFitsSubject tells whether such a thing can happen to its subject.
func typeFitsSubject(event shop.StoredEvent) bool {
	for _, s := range subjects {
		if strings.HasPrefix(event.Subject, s.begins) {
			return strings.HasPrefix(string(event.Type), s.kinds) && shop.EventTypeProblem(string(event.Type)) == ""
		}
	}
	return false
}
