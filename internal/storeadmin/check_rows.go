package storeadmin

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// newestEvent returns an SQL expression that selects the data in the newest event about a row of the table. prefix is
// the part of the event's subject that precedes the row's id, and suffix is the part that follows it.
func (c *checker) newestEvent(table, prefix, suffix string) string {
	return "(SELECT data FROM " + c.engine.feed + " e WHERE e.subject = '" + prefix + "' || " + table + ".id || '" + suffix + "'" +
		" ORDER BY " + c.engine.newest + " LIMIT 1)"
}

// checkResources checks every row in a resource's table. problem returns what is wrong with the row itself, or "" if
// nothing is wrong. same reports whether the row equals the current state in its newest event.
func checkResources[T any](
	ctx context.Context, c *checker, table sqlstore.Table[T], idOf func(T) int64,
	problem func(T) string, same func(row, event T) bool,
) error {
	prefix := ""
	for _, s := range subjects {
		if s.table == table.Name {
			prefix = s.begins
		}
	}
	query := c.engine.with + "SELECT " + table.Columns + ", " + c.newestEvent(table.Name, prefix, "") + " FROM " + table.Name + " ORDER BY id"
	few := limitedFindings{checker: c}
	return c.Each(ctx, query, func(scan sqlstore.Scanner) error {
		var event sql.NullString
		resource, err := table.Scan(func(columns ...any) error { return scan(append(columns, &event)...) })
		id := idOf(resource)
		if err != nil {
			return fmt.Errorf("%s %d: %w", table.Name, id, err)
		}
		if text := problem(resource); text != "" {
			few.finding("%s %d: %s", table.Name, id, text)
		}
		if !event.Valid {
			if c.horizon == 0 {
				few.finding("%s %d: it has no event", table.Name, id)
			}
			return nil
		}
		var data struct{ Current *T }
		switch err := json.Unmarshal([]byte(event.String), &data); {
		case err != nil:
			few.finding("%s %d: its newest event cannot be read: %v", table.Name, id, err)
		case data.Current == nil:
			few.finding("%s %d: its newest event says that it was removed", table.Name, id)
		case !same(resource, *data.Current):
			few.finding("%s %d: its newest event differs from it", table.Name, id)
		}
		return nil
	})
}

// petRow is an animal with the key by which its name is sorted. The key is NULL until the name has been indexed.
type petRow struct {
	shop.Pet
	key sql.Null[string]
}

func (c *checker) checkPets(ctx context.Context) error {
	table := sqlstore.Table[petRow]{Name: sqlstore.Pets.Name, Columns: sqlstore.Pets.Columns + ", name_key"}
	table.Scan = func(scan sqlstore.Scanner) (row petRow, err error) {
		row.Pet, err = sqlstore.Pets.Scan(func(columns ...any) error { return scan(append(columns, &row.key)...) })
		return row, err
	}
	return checkResources(ctx, c, table, func(row petRow) int64 { return row.ID }, func(row petRow) string {
		if problems := row.Fields().Problems(); len(problems) > 0 {
			return "its " + problems.String()
		}
		if row.key.Valid && row.key.V != shop.NameKey(row.Name) {
			return fmt.Sprintf("the key of its name is %q, but its name is %q", row.key.V, row.Name)
		}
		return ""
	}, func(row, event petRow) bool { return row.Pet == event.Pet })
}

// categoryRow is a category with the key by which its name is found. The key is NULL if an earlier version has written
// the name and the name has not been indexed yet.
type categoryRow struct {
	shop.Category
	key sql.Null[string]
}

func (c *checker) checkCategories(ctx context.Context) error {
	table := sqlstore.Table[categoryRow]{Name: sqlstore.Categories.Name, Columns: sqlstore.Categories.Columns + ", name_key"}
	table.Scan = func(scan sqlstore.Scanner) (row categoryRow, err error) {
		row.Category, err = sqlstore.Categories.Scan(func(columns ...any) error { return scan(append(columns, &row.key)...) })
		return row, err
	}
	return checkResources(ctx, c, table, func(row categoryRow) int64 { return row.ID }, func(row categoryRow) string {
		if problem := shop.TextProblem(row.Name); row.Name != "" && problem != "" {
			return "its name " + problem
		}
		if row.key.Valid && row.key.V != shop.CategoryKey(row.Name) {
			return fmt.Sprintf("the key of its name is %q, but its name is %q", row.key.V, row.Name)
		}
		return ""
	}, func(row, event categoryRow) bool { return row.Category == event.Category })
}

func (c *checker) checkOrders(ctx context.Context) error {
	idOf := func(order shop.Order) int64 { return order.ID }
	return checkResources(ctx, c, sqlstore.Orders, idOf, func(order shop.Order) string {
		if problem := shop.TextProblem(order.Reference); order.Reference != "" && problem != "" {
			return "its reference " + problem
		}
		return firstProblem(order.Customer.Problems())
	}, func(row, event shop.Order) bool {
		row.LastChange, row.Customer = shop.StatusChange{}, shop.Customer{} // an event does not show them
		return row == event
	})
}

func (c *checker) checkKeys(ctx context.Context) error {
	idOf := func(key shop.Key) int64 { return key.ID }
	return checkResources(ctx, c, sqlstore.Keys, idOf, func(key shop.Key) string {
		// The key is checked as of its creation time because it may have expired since then.
		return firstProblem(shop.NewKey{Name: key.Name, Scopes: key.Scopes}.Problems(key.CreatedAt))
	}, func(row, event shop.Key) bool {
		row.LastUsedAt, event.LastUsedAt = time.Time{}, time.Time{} // using a key writes no event
		if may := slices.Contains[[]shop.Scope]; may(row.Scopes, shop.Customers) && may(event.Scopes, shop.PetsWrite) && may(event.Scopes, shop.OrdersWrite) && !may(event.Scopes, shop.Customers) {
			// The key was created before version 1.2, whose migration has added this scope.
			event.Scopes = append(event.Scopes, shop.Customers)
		}
		return slices.Equal(row.Scopes, event.Scopes) && fmt.Sprint(row) == fmt.Sprint(event)
	})
}

func (c *checker) checkWebhooks(ctx context.Context) error {
	idOf := func(hook shop.Webhook) int64 { return hook.ID }
	return checkResources(ctx, c, sqlstore.Webhooks, idOf, func(hook shop.Webhook) string {
		return firstProblem(shop.NewWebhook{URL: hook.URL, Types: hook.Types}.Problems())
	}, func(row, event shop.Webhook) bool {
		row.FailingSince, event.FailingSince = time.Time{}, time.Time{} // a delivery attempt writes no event
		row.WebhookProgress, event.WebhookProgress = shop.WebhookProgress{}, shop.WebhookProgress{}
		return slices.Equal(row.Types, event.Types) && fmt.Sprint(row) == fmt.Sprint(event)
	})
}

// firstProblem describes the first problem. It returns "" if there are no problems.
func firstProblem(problems shop.Problems) string {
	for member, reason := range problems.All() {
		return member + " " + reason
	}
	return ""
}

// checkDeliveries checks the attempts and the message of each delivery. A message from the feed that was accepted at once
// has no body.
func (c *checker) checkDeliveries(ctx context.Context) error {
	few := limitedFindings{checker: c}
	return c.Each(ctx, "SELECT id, status, attempts, body FROM webhook_deliveries ORDER BY id", func(scan sqlstore.Scanner) error {
		var id int64
		var status, attempts, body string
		if err := scan(&id, &status, &attempts, &body); err != nil {
			return err
		}
		var list []shop.Attempt
		if err := json.Unmarshal([]byte(attempts), &list); err != nil {
			few.finding("deliveries %d: its attempts cannot be read: %v", id, err)
		}
		switch {
		case body == "" && status != string(shop.DeliverySucceeded):
			few.finding("deliveries %d: its message is missing", id)
		case body != "" && !json.Valid([]byte(body)):
			few.finding("deliveries %d: its message is not JSON", id)
		}
		return nil
	})
}

func (c *checker) checkIdempotencyRecords(ctx context.Context) error {
	few := limitedFindings{checker: c}
	return c.Each(ctx, "SELECT principal, key, status, header, length(fingerprint) FROM idempotency_records ORDER BY principal, key", func(scan sqlstore.Scanner) error {
		var principal, status, length int64
		var key, header string
		if err := scan(&principal, &key, &status, &header, &length); err != nil {
			return err
		}
		var fields map[string]string
		if err := json.Unmarshal([]byte(header), &fields); err != nil || status < 200 || status > 299 || length != 32 {
			few.finding("idempotency_records of key %d, %q: the response cannot be repeated", principal, key)
		}
		return nil
	})
}

// checkEvents checks the data, type, subject and position of each event.
func (c *checker) checkEvents(ctx context.Context) error {
	var undone sqlstore.UndoneRanges
	err := c.Each(ctx, "SELECT value FROM settings WHERE name = '"+sqlstore.UndoneRangesSetting+"'", func(scan sqlstore.Scanner) error {
		var text string
		err := scan(&text)
		undone, _ = sqlstore.ParseUndoneRanges(text)
		return err
	})
	if err != nil {
		return err
	}
	few := limitedFindings{checker: c}
	return c.Each(ctx, "SELECT "+sqlstore.Events.Columns+" FROM events ORDER BY id", func(scan sqlstore.Scanner) error {
		event, err := sqlstore.Events.Scan(scan)
		if err != nil {
			return err
		}
		var data map[string]json.RawMessage
		switch err := json.Unmarshal(event.Data, &data); {
		case err != nil || data["current"] == nil || data["previous"] == nil:
			few.finding("events %d: its data has no current and previous state", event.ID)
		case !typeFitsSubject(event):
			few.finding("events %d: its type %q does not fit its subject %q", event.ID, event.Type, event.Subject)
		case event.ID <= c.horizon:
			few.finding("events %d: it exists, but events up to %d were removed by age", event.ID, c.horizon)
		case undone.ResumeAfter(event.ID) > 0:
			few.finding("events %d: it exists, but a restore has undone it", event.ID)
		}
		return nil
	})
}

// typeFitsSubject reports whether the event's type is valid for the kind of resource in the event's subject.
func typeFitsSubject(event shop.StoredEvent) bool {
	if strings.HasSuffix(event.Subject, profileSubject) {
		return strings.HasPrefix(event.Subject, "pets/") && event.Type == shop.ProfileUpdated
	}
	if event.Subject == storeSubject {
		return event.Type == shop.StoreUpdated
	}
	for _, s := range subjects {
		if strings.HasPrefix(event.Subject, s.begins) {
			return strings.HasPrefix(string(event.Type), s.kinds) && shop.EventTypeProblem(string(event.Type)) == ""
		}
	}
	return false
}

// checkSearch reports rows that are missing from the search index. Superfluous ids in the index do no harm, because a
// search also compares the text.
func (c *checker) checkSearch(ctx context.Context) error {
	few := limitedFindings{checker: c}
	return c.CheckSearch(ctx, func(table string, id int64) {
		few.finding("%s %d: it is missing from the search index", table, id)
	})
}
