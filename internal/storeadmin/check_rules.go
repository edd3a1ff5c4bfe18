package storeadmin

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// rowRule is a rule that all rows must follow. query selects the rows that break the rule. says is the format
// string for the finding, with one %s for each column that query selects.
type rowRule struct{ query, says string }

// subjects describes each kind of resource that has events: its table, the prefix of its event subjects (begins), the
// prefix of its event types (kinds), the types of the events that create it, as an SQL list (first), and the type of
// the event that removes it (last). Orders are never removed.
var subjects = []struct{ table, begins, kinds, first, last string }{
	{"pets", "pets/", "pet.", "'pet.created', 'pet.restored'", "pet.deleted"},
	{"categories", "categories/", "category.", "'category.created'", "category.deleted"},
	{"orders", "store/orders/", "order.", "'order.placed'", ""},
	{"keys", "keys/", "key.", "'key.created'", "key.revoked"},
	{"webhooks", "webhooks/", "webhook.", "'webhook.created'", "webhook.deleted"},
}

// storeSubject is the subject of events about what the shop says of itself.
const storeSubject = "store"

// profileSubject is the end of the subjects of events about profiles. They begin as those of their pets do.
const profileSubject = "/profile"

func rowRules(e *engine) []rowRule {
	const open = "status IN ('placed', 'approved')"
	rules := []rowRule{
		// The first rules verify the CHECK constraints, because SQLite's integrity check no longer does.
		{"SELECT id, status FROM pets WHERE status NOT IN ('available', 'pending', 'sold') ORDER BY id",
			"pets %s: invalid status %s"},
		{"SELECT id, status FROM orders WHERE status NOT IN ('placed', 'approved', 'delivered', 'cancelled', 'expired') ORDER BY id",
			"orders %s: invalid order status %s"},
		{"SELECT id, status FROM orders WHERE (hold_expires_at IS NOT NULL) <> (status = 'placed') ORDER BY id",
			"orders %s: it is %s, which does not fit its hold"},
		{"SELECT id, status FROM webhook_deliveries WHERE status NOT IN ('pending', 'succeeded', 'failed') ORDER BY id",
			"deliveries %s: invalid delivery status %s"},
		{"SELECT pet_id, count(*) FROM orders WHERE " + open + " GROUP BY pet_id HAVING count(*) > 1 ORDER BY pet_id",
			"pets %s: %s open orders hold it"},
		{"SELECT o.id, o.status, o.pet_id FROM orders o LEFT JOIN pets p ON p.id = o.pet_id WHERE o." + open + " AND p.id IS NULL ORDER BY o.id",
			"orders %s: it is %s, but pet %s does not exist"},
		{"SELECT p.id, o.id, coalesce(p.status, 'unspecified') FROM orders o JOIN pets p ON p.id = o.pet_id WHERE o." + open +
			" AND coalesce(p.status, '') <> 'pending' ORDER BY o.id",
			"pets %s: held by order %s, but its status is %s instead of pending"},
		{"SELECT o.id, o.pet_id FROM orders o JOIN pets p ON p.id = o.pet_id WHERE o.pet_status_changes > p.status_changes ORDER BY o.id",
			"orders %s: it knows more changes of the status of pet %s than there were"},
		{"SELECT o.id FROM orders o WHERE (o.changed_at IS NULL) <> (o.status_before IS NULL) OR (o.changed_at IS NULL) <> (o.pet_status_changes IS NULL)" +
			" OR o.is_undo NOT IN (0, 1) ORDER BY o.id",
			"orders %s: the last change of its status is incomplete"},
		{"SELECT o.id, o.pet_id FROM orders o WHERE o.pet_id < 1 OR o.pet_id > (" + fmt.Sprintf(e.last, "pets") + ") ORDER BY o.id",
			"orders %s: it refers to a pet that never existed: %s"},
		{"SELECT f.id FROM profiles f LEFT JOIN pets p ON p.id = f.id WHERE f.removed = 0 AND p.id IS NULL ORDER BY f.id",
			"profiles %s: its pet does not exist"},
		{"SELECT f.id FROM profiles f JOIN pets p ON p.id = f.id WHERE f.removed <> 0 ORDER BY f.id",
			"profiles %s: its pet exists, but the profile is marked as removed"},
		{"SELECT id FROM profiles WHERE (photos_removed_at IS NOT NULL) <> (removed <> 0 AND coalesce(photos, '') <> '') ORDER BY id",
			"profiles %s: when its photos were removed does not fit the rest of it"},
		{"SELECT p.id, p.published FROM pets p LEFT JOIN profiles f ON f.id = p.id WHERE p.published <> coalesce(f.published, 0) ORDER BY p.id",
			"pets %s: published is %s, which differs from its profile"},
		{"SELECT f.id FROM profiles f LEFT JOIN published_pets p ON p.id = f.id WHERE f.published = 1 AND p.id IS NULL ORDER BY f.id",
			"published_pets: pet %s, which is published, is missing"},
		{"SELECT id FROM keys WHERE NOT EXISTS (SELECT 1 FROM key_secrets WHERE key_id = keys.id AND ends_at IS NULL) ORDER BY id",
			"keys %s: it has no secret without an end"},
		{"SELECT key_id FROM key_secrets WHERE length(hash) <> 32 ORDER BY key_id",
			"keys %s: the hash of one of its secrets is not a SHA-256"},
		{"SELECT id FROM webhooks WHERE NOT EXISTS (SELECT 1 FROM webhook_secrets WHERE webhook_id = webhooks.id AND ends_at IS NULL) ORDER BY id",
			"webhooks %s: it has no secret to sign with"},
		{"SELECT id, position FROM webhooks WHERE position > (" + fmt.Sprintf(e.last, "events") + ") ORDER BY id",
			"webhooks %s: its position %s is after the last event"},
		{"SELECT id FROM webhooks WHERE enabled NOT IN (0, 1) OR enabled = 1 AND disabled_reason IS NOT NULL ORDER BY id",
			"webhooks %s: it is neither enabled nor disabled"},
		{"SELECT id, status FROM webhook_deliveries WHERE status <> 'pending' AND next_at IS NOT NULL ORDER BY id",
			"deliveries %s: it has %s, but would be retried"},
		{"SELECT b.last_id FROM event_blocks b WHERE EXISTS (SELECT 1 FROM events e WHERE e.id > b.after_id AND e.id <= b.last_id AND" +
			" (e.at < b.earliest OR e.at > b.latest OR b.actors <> '' AND b.actors NOT LIKE '% ' || e.actor || ' %')) ORDER BY b.last_id",
			"event_blocks %s: it would hide an event that it does not describe"},
		{"SELECT b.last_id FROM event_blocks b WHERE EXISTS (SELECT 1 FROM events e WHERE e.id <= b.after_id AND e.id >" +
			" coalesce((SELECT max(p.last_id) FROM event_blocks p WHERE p.last_id < b.last_id), 0)) ORDER BY b.last_id",
			"event_blocks %s: there are events before it that no block describes"},
	}
	for _, s := range subjects {
		of := fmt.Sprintf(e.idOf, s.begins, len(s.begins)+1)
		rules = append(rules, rowRule{
			e.with + "SELECT e.subject, e.type FROM " + e.feed + " e LEFT JOIN " + s.table + " r ON r.id = " + of +
				" WHERE e.type IN (" + s.first + ") AND r.id IS NULL AND NOT EXISTS (SELECT 1 FROM " + e.feed +
				" d WHERE d.subject = e.subject AND d.type = '" + s.last + "' AND " + e.later + ") ORDER BY e.id",
			"%s: it does not exist, but there is an event %s, and none of its removal"})
	}
	return append(rules, e.rules...)
}

func (c *checker) checkRule(ctx context.Context, rule rowRule) error {
	few := limitedFindings{checker: c}
	columns := strings.Count(rule.says, "%s")
	return c.Each(ctx, rule.query, func(scan sqlstore.Scanner) error {
		values, places, texts := make([]sql.NullString, columns), make([]any, columns), make([]any, columns)
		for i := range values {
			places[i] = &values[i]
		}
		if err := scan(places...); err != nil {
			return err
		}
		for i, value := range values {
			texts[i] = value.String
		}
		few.finding(rule.says, texts...)
		return nil
	})
}

// checkSettings checks the values in the settings table and stores the event horizon in c.horizon and what the shop says
// about itself in c.shop.
func (c *checker) checkSettings(ctx context.Context) error {
	environment := ""
	c.shop = shop.DefaultSettings()
	err := c.Each(ctx, "SELECT name, value FROM settings", func(scan sqlstore.Scanner) error {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return err
		}
		switch name {
		case "environment":
			environment = value
		case "event_horizon", "last_category_id", "photo_bytes", "last_photo_id":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				c.finding("settings %s: %q is not a number", name, value)
			}
			if name == "event_horizon" {
				c.horizon = n
			}
		case sqlstore.ShopSetting:
			settings, err := sqlstore.ParseSettings(value)
			if err != nil {
				c.finding("settings %s: %v", name, err)
			} else if problems := settings.Problems(); len(problems) > 0 {
				c.finding("settings %s: its %s", name, problems)
			}
			c.shop = settings
		case sqlstore.UndoneRangesSetting:
			if _, err := sqlstore.ParseUndoneRanges(value); err != nil {
				c.finding("settings %s: %v", name, err)
			}
		}
		return nil
	})
	if err == nil && environment != string(shop.Production) && environment != string(shop.Staging) {
		c.finding("settings environment: %q is neither production nor staging", environment)
	}
	return err
}

// checkStore compares what the shop says about itself with its newest event.
func (c *checker) checkStore(ctx context.Context) error {
	newest := shop.DefaultSettings()
	query := c.engine.with + "SELECT data FROM " + c.engine.feed + " e WHERE e.subject = '" + storeSubject + "' ORDER BY " + c.engine.newest + " LIMIT 1"
	found := false
	err := c.Each(ctx, query, func(scan sqlstore.Scanner) error {
		var data string
		err := scan(&data)
		event := struct{ Current *shop.Settings }{&newest}
		if json.Unmarshal([]byte(data), &event) != nil {
			newest = shop.Settings{}
		}
		found = true
		return err
	})
	if err == nil && (found || c.horizon == 0) && !reflect.DeepEqual(newest, c.shop) {
		c.finding("settings %s: its newest event differs from it", sqlstore.ShopSetting)
	}
	return err
}

// checkIDs reports tables that would assign an existing id again.
func (c *checker) checkIDs(ctx context.Context) error {
	for _, table := range copiedTables {
		if !table.hasSequence {
			continue
		}
		last, err := number(ctx, c.Conn, fmt.Sprintf(c.engine.last, table.name))
		if err != nil {
			return err
		}
		largest, err := number(ctx, c.Conn, "SELECT coalesce(max(id), 0) FROM "+table.name)
		if err != nil {
			return err
		}
		if largest > last {
			c.finding("%s %d: its id would be assigned again; the last assigned id is %d", table.name, largest, last)
		}
	}
	return nil
}

// checkCounts compares the numbers of pets with the pets. It skips a damaged file, because it reads the pets through
// an index that may be damaged.
func (c *checker) checkCounts(ctx context.Context) error {
	if c.found.Damage > 0 {
		return nil
	}
	for _, rule := range []rowRule{
		{"SELECT count(*) FROM inventory HAVING count(*) <> 1", "inventory: it has %s rows instead of one"},
		countRule(c.engine.counts.Inventory, "", "inventory %s: counted %s, found %s"),
		countRule(c.engine.counts.Categories, "category_id, ", "pet_counts %s %s: counted %s, found %s"),
	} {
		if err := c.checkRule(ctx, rule); err != nil {
			return err
		}
	}
	return nil
}

// countRule returns the rule that the counts in a table equal the numbers of pets. by is empty, or the column by which
// the table groups the pets.
func countRule(table, by, says string) rowRule {
	var parts []string
	for _, status := range []string{"available", "pending", "sold", "unspecified"} {
		parts = append(parts, "SELECT "+by+"'"+status+"' AS status, "+status+" AS counted, 0 AS found FROM "+table)
	}
	parts = append(parts, "SELECT "+by+"coalesce(status, 'unspecified'), 0, count(*) FROM pets GROUP BY "+by+"status")
	return rowRule{"SELECT " + by + "status, sum(counted), sum(found) FROM (" + strings.Join(parts, " UNION ALL ") +
		") AS n GROUP BY " + by + "status HAVING sum(counted) <> sum(found) ORDER BY " + by + "status", says}
}
