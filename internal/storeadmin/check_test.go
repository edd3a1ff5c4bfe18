package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// fillShop calls the shop to create every kind of row and event.
func fillShop(t *testing.T, database string) {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), database, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := shop.Open(t.Context(), store, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"Rex", "ÄRGER", "猫 🐈‍⬛", "Mia", "Bo", "gone"} {
		_, err := s.CreatePet(ctx, shop.NewPet{Name: name, CategoryID: int64(i%2) - 1, Status: []shop.Status{shop.Available, ""}[i/5]})
		do(err)
	}
	do(s.DeletePet(ctx, 6, nil))
	_, err = s.CreateCategory(ctx, "Vögel")
	do(err)
	_, err = s.PutCategory(ctx, shop.Category{ID: 50, Name: "for a while"}, nil)
	do(err)
	do(s.DeleteCategory(ctx, 50, nil))
	_, err = s.PutCategory(ctx, shop.Category{ID: 50, Name: "again"}, nil)
	do(err)
	for pet := range int64(4) {
		_, err := s.PlaceOrder(ctx, shop.NewOrder{PetID: pet + 1, Reference: "a-1"})
		do(err)
	}
	for order, steps := range map[int64][]shop.OrderStatus{2: {shop.Approved}, 3: {shop.Approved, shop.Delivered}, 4: {shop.Cancelled}} {
		for _, step := range steps {
			_, err := s.UpdateOrder(ctx, order, step, nil)
			do(err)
		}
	}
	for _, name := range []string{"admin", "partner", "lost"} {
		_, err := s.CreateKey(ctx, shop.NewKey{Name: name, Scopes: []shop.Scope{shop.Admin, shop.PetsRead}, ExpiresAt: time.Now().Add(time.Hour)})
		do(err)
	}
	_, err = s.RotateKey(ctx, 2, time.Hour)
	do(err)
	do(s.RevokeKey(ctx, 3))
	hook, err := s.CreateWebhook(ctx, shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}})
	do(err)
	_, err = s.RotateWebhook(ctx, hook.ID, time.Hour)
	do(err)
	repeat := &shop.IdempotentRequest{Key: "once", Response: func(any) shop.StoredResponse { return shop.StoredResponse{Status: 201, Body: []byte("{}")} }}
	_, err = s.CreatePet(shop.WithIdempotency(ctx, repeat), shop.NewPet{Name: "told", CategoryID: 1})
	do(err)
	do(store.Publish(ctx))
	_, err = s.FanOut(ctx, hook.Webhook, hook.Position)
	do(err)
	claims, err := s.ClaimDeliveries(ctx, hook.ID, 8)
	do(err)
	for _, claim := range claims {
		_, err := s.FinishAttempt(ctx, claim, shop.Attempt{At: time.Now(), Status: 204}, 0)
		do(err)
	}
	_, err = s.TestWebhook(ctx, hook.ID)
	do(err)
	do(s.RevokeKey(ctx, 2)) // the last event is not published yet
}

// findings runs Check and returns its findings.
func findings(t *testing.T, database string) []string {
	t.Helper()
	found := []string{}
	n, err := Check(t.Context(), database, func(finding string) { found = append(found, finding) })
	if err != nil || n.All != len(found) {
		t.Errorf("%+v, %v: %q", n, err, found)
	}
	return found
}

func TestCheckFindsNothingInASoundStore(t *testing.T) {
	t.Parallel()
	for name, engine := range copyEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := engine(t)
			fillShop(t, database)
			if found := findings(t, database); len(found) > 0 {
				t.Errorf("%q", found)
			}
		})
	}
	t.Run("after the events have gone", func(t *testing.T) {
		t.Parallel()
		database := copyEngines["file"](t)
		fillShop(t, database)
		with(t, database, func(tx shop.WriteTx) error {
			_, err := tx.RemoveEvents(time.Now().Add(time.Hour), time.Now())
			return err
		})
		if found := findings(t, database); len(found) > 0 {
			t.Errorf("%q", found)
		}
	})
}

// damages maps each kind of damage that is possible on both engines to the statements that cause it. want is
// a part of the expected finding.
var damages = map[string]struct{ statements, want string }{
	"two open orders": {"DROP INDEX orders_open; UPDATE orders SET pet_id = 1 WHERE id = 2",
		"pets 1: 2 open orders hold it"},
	"an open order without its animal":  {"UPDATE orders SET pet_id = 6 WHERE id = 1", "orders 1: it is placed, but pet 6 does not exist"},
	"an animal that is held and free":   {"UPDATE pets SET status = 'available' WHERE id = 2", "pets 2: held by order 2, but its status is available instead of pending"},
	"an animal that is held and sold":   {"UPDATE pets SET status = 'sold' WHERE id = 1", "pets 1: held by order 1, but its status is sold instead of pending"},
	"an animal that is held, no status": {"UPDATE pets SET status = NULL WHERE id = 1", "pets 1: held by order 1, but its status is unspecified instead of pending"},
	"an order of no animal ever":        {"UPDATE orders SET pet_id = 8 WHERE id = 3", "orders 3: it refers to a pet that never existed: 8"},
	"a key without a secret":            {"DELETE FROM key_secrets WHERE key_id = 1", "keys 1: it has no secret without an end"},
	"a key whose secrets end":           {"UPDATE key_secrets SET ends_at = 1 WHERE key_id = 1", "keys 1: it has no secret without an end"},
	"a short hash":                      {"UPDATE key_secrets SET hash = '\\x0102' WHERE key_id = 1", "keys 1: the hash of one of its secrets is not a SHA-256"},
	"a webhook without a secret":        {"DELETE FROM webhook_secrets", "webhooks 1: it has no secret to sign with"},
	"a webhook in the future":           {"UPDATE webhooks SET position = 10000", "webhooks 1: its position 10000 is after the last event"},
	"a webhook half enabled":            {"UPDATE webhooks SET enabled = 2", "webhooks 1: it is neither enabled nor disabled"},
	"a webhook enabled for a reason":    {"UPDATE webhooks SET disabled_reason = 'x'", "webhooks 1: it is neither enabled nor disabled"},
	"a delivery that does not end":      {"UPDATE deliveries SET next_at = 1 WHERE id = 1", "deliveries 1: it has succeeded, but would be retried"},
	"an animal that vanished":           {"DELETE FROM pets WHERE id = 5; UPDATE inventory SET n = n - 1 WHERE status = 'available'", "pets/5: it does not exist, but there is an event pet.created, and none of its removal"},
	"a category that vanished":          {"DELETE FROM categories WHERE id = 50", "categories/50: it does not exist, but there is an event category.created, and none of its removal"},
	"an order that vanished":            {"DELETE FROM orders WHERE id = 3", "store/orders/3: it does not exist, but there is an event order.placed, and none of its removal"},
	"a key that vanished":               {"DELETE FROM key_secrets; DELETE FROM keys", "keys/1: it does not exist, but there is an event key.created, and none of its removal"},
	"a webhook that vanished":           {"DELETE FROM webhook_secrets; DELETE FROM webhooks", "webhooks/1: it does not exist, but there is an event webhook.created, and none of its removal"},
	"no environment":                    {"DELETE FROM settings WHERE name = 'environment'", `settings environment: "" is neither production nor staging`},
	"an odd environment":                {"UPDATE settings SET value = 'x' WHERE name = 'environment'", `settings environment: "x" is neither production nor staging`},
	"an odd horizon":                    {"INSERT INTO settings (name, value) VALUES ('event_horizon', 'x')", `settings event_horizon: "x" is not a number`},
	"an odd last category":              {"UPDATE settings SET value = 'x' WHERE name = 'last_category_id'", `settings last_category_id: "x" is not a number`},
	"an odd place":                      {"INSERT INTO settings (name, value) VALUES ('undone_events', '7-3')", `settings undone_events: invalid range of undone events: "7-3"`},
	"a wrong count":                     {"UPDATE inventory SET n = n + 1 WHERE status = 'sold'", "inventory sold: counted 2, found 1"},
	"a wrong count of none":             {"UPDATE inventory SET n = n - 1 WHERE status = ''", "inventory unspecified: counted 0, found 1"},
	"an empty name":                     {"UPDATE pets SET name = ' ', name_folded = ' ' WHERE id = 5", "pets 5: its name must have at least one character that is not a space"},
	"a name folded otherwise":           {"UPDATE pets SET name_folded = 'ärger' WHERE id = 2", `pets 2: its search text is "ärger", but its name is "ÄRGER"`},
	"an animal without its event":       {"DELETE FROM events WHERE subject = 'pets/5'", "pets 5: it has no event"},
	"an animal that differs":            {"UPDATE pets SET category_id = 50 WHERE id = 5", "pets 5: its newest event differs from it"},
	"an animal removed by event":        {"UPDATE events SET data = '{\"current\":null,\"previous\":null}' WHERE subject = 'pets/5'", "pets 5: its newest event says that it was removed"},
	"an event that is no JSON":          {"UPDATE events SET data = '{' WHERE subject = 'pets/5'", "pets 5: its newest event cannot be read: unexpected end of JSON input"},
	"a category's name":                 {"UPDATE categories SET name = ' ' WHERE id = 50", "categories 50: its name must have at least one character that is not a space"},
	"a category that differs":           {"UPDATE categories SET name = NULL WHERE id = 50", "categories 50: its newest event differs from it"},
	"an order's reference":              {"UPDATE orders SET reference = ' ' WHERE id = 4", "orders 4: its reference must have at least one character that is not a space"},
	"an order that differs":             {"UPDATE orders SET updated_at = 1 WHERE id = 4", "orders 4: its newest event differs from it"},
	"a key that differs":                {"UPDATE keys SET scopes = 'admin' WHERE id = 1", "keys 1: its newest event differs from it"},
	"a key that may do what is not":     {"UPDATE keys SET scopes = 'fly' WHERE id = 1", "keys 1: scopes must contain only"},
	"a webhook that differs":            {"UPDATE webhooks SET created_at = 1", "webhooks 1: its newest event differs from it"},
	"a webhook to nowhere":              {"UPDATE webhooks SET url = 'x'", "webhooks 1: url must be a URL"},
	"a delivery's attempts":             {"UPDATE deliveries SET attempts = '{}' WHERE id = 1", "deliveries 1: its attempts cannot be read"},
	"a delivery's message":              {"UPDATE deliveries SET body = '{' WHERE id = 1", "deliveries 1: its body is not JSON"},
	"an answer that was none":           {"UPDATE kept_answers SET status = 500", `kept_answers of key 0, "once": the response cannot be repeated`},
	"an answer without a header":        {"UPDATE kept_answers SET header = '['", `kept_answers of key 0, "once": the response cannot be repeated`},
	"an answer to nobody":               {"UPDATE kept_answers SET fingerprint = '\\x0102'", `kept_answers of key 0, "once": the response cannot be repeated`},
	"an event that says nothing":        {"UPDATE events SET data = '{}' WHERE id = 1", "events 1: its data has no current and previous state"},
	"an event of no type":               {"UPDATE events SET type = 'pet.flown' WHERE id = 2", `events 2: its type "pet.flown" does not fit its subject "pets/1"`},
	"an event of another thing":         {"UPDATE events SET type = 'key.created' WHERE id = 2", `events 2: its type "key.created" does not fit its subject "pets/1"`},
	"an event of nothing":               {"UPDATE events SET subject = 'x' WHERE id = 2", `events 2: its type "pet.created" does not fit its subject "x"`},
	"an event behind the horizon":       {"INSERT INTO settings (name, value) VALUES ('event_horizon', '1')", "events 1: it exists, but events up to 1 were removed by age"},
	"an event that was undone":          {"INSERT INTO settings (name, value) VALUES ('undone_events', '2-4')", "events 3: it exists, but a restore has undone it"},
	"a missing index":                   {"DROP INDEX pets_category_status", "schema: the index pets_category_status is missing"},
	"a missing table":                   {"DROP TABLE kept_answers", "schema: the table kept_answers is missing"},
}

// onFile is like damages, but for damage that only a SQLite file can have, because a server rejects the
// statements.
var onFile = map[string]struct{ statements, want string }{
	"an id that comes back":        {"UPDATE sqlite_sequence SET seq = 3 WHERE name = 'pets'", "pets 7: its id would be assigned again; the last assigned id is 3"},
	"no count of a status":         {"DELETE FROM inventory WHERE status = 'pending'", "inventory pending: its count is missing"},
	"an animal without a category": {"UPDATE pets SET category_id = 99 WHERE id = 5", "pets 5: it refers to a row of categories that does not exist"},
	"a secret without a key":       {"DELETE FROM keys", "key_secrets: it refers to a row of keys that does not exist"},
	"an odd status of an order":    {"PRAGMA ignore_check_constraints = 1; UPDATE orders SET status = 'lost' WHERE id = 4", "orders 4: invalid order status lost"},
	"an odd status of a delivery":  {"PRAGMA ignore_check_constraints = 1; UPDATE deliveries SET status = 'lost'", "deliveries 1: invalid delivery status lost"},
	"a hold of what is over":       {"PRAGMA ignore_check_constraints = 1; UPDATE orders SET hold_expires_at = 1 WHERE id = 4", "orders 4: it is cancelled, which does not fit its hold"},
	"an odd status":                {"PRAGMA ignore_check_constraints = 1; UPDATE pets SET status = 'lost' WHERE id = 5", "pets 5: invalid status lost"},
	"a row out of its index": {"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, '(category_id, status, id)', '(name, status, id)') WHERE name = 'pets_category_status'" +
		"| INSERT INTO pets (name, name_folded, category_id) VALUES ('x', 'x', 0) | PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, '(name, status, id)', '(category_id, status, id)') WHERE name = 'pets_category_status'",
		"missing from index pets_category_status"},
	"another table":  {"ALTER TABLE pets ADD COLUMN colour TEXT", "schema: the table pets differs from the migrations"},
	"another index":  {"DROP INDEX orders_open; CREATE INDEX orders_open ON orders (pet_id)", "schema: the index orders_open differs from the migrations"},
	"a stranger":     {"CREATE TABLE songs (title TEXT)", "schema: the table songs does not belong to the store"},
	"a trigger":      {"CREATE TRIGGER meddle AFTER INSERT ON pets BEGIN DELETE FROM pets; END", "schema: the trigger meddle does not belong to the store"},
	"text for a key": {"UPDATE key_secrets SET hash = x'01' WHERE key_id = 1", "keys 1: the hash of one of its secrets is not a SHA-256"},
}

// onServer is like damages, but for damage that only a PostgreSQL server can have.
var onServer = map[string]struct{ statements, want string }{
	"an id that comes back":     {"SELECT setval('pets_id_seq', 3)", "pets 7: its id would be assigned again; the last assigned id is 3"},
	"no count of a status":      {"DELETE FROM inventory_changes WHERE status = 'sold'; DELETE FROM inventory WHERE status = 'sold'", "inventory sold: its count is missing"},
	"a column of another type":  {"ALTER TABLE pets ALTER COLUMN name TYPE VARCHAR(100)", "schema: the table column pets.name differs from the migrations"},
	"a missing column":          {"ALTER TABLE orders DROP COLUMN reference", "schema: the table column orders.reference is missing"},
	"a constraint not enforced": {"ALTER TABLE pets DROP CONSTRAINT pets_category_id_fkey; ALTER TABLE pets ADD CONSTRAINT later FOREIGN KEY (category_id) REFERENCES categories (id) NOT VALID", "schema: the constraint later is not valid: rows may violate it"},
}

func TestCheckFindsEveryDamage(t *testing.T) {
	t.Parallel()
	for name, engine := range copyEngines {
		all := map[string]struct{ statements, want string }{}
		for _, more := range []map[string]struct{ statements, want string }{damages, map[string]map[string]struct{ statements, want string }{"file": onFile, "server": onServer}[name]} {
			for what, d := range more {
				all[what] = d
			}
		}
		for what, d := range all {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				database := engine(t)
				fillShop(t, database)
				if sqlstore.IsURL(database) {
					// This call publishes all events.
					with(t, database, func(shop.WriteTx) error { return nil })
					execOn(t, database, strings.Split(d.statements, "; ")...)
				} else {
					// Each group of statements runs on its own connection.
					for statements := range strings.SplitSeq(d.statements, "|") {
						execFile(t, database, strings.ReplaceAll(statements, `'\x0102'`, "x'0102'"))
					}
				}
				found := findings(t, database)
				if !slices.ContainsFunc(found, func(finding string) bool { return strings.Contains(finding, d.want) }) {
					t.Errorf("found %q, want %q", found, d.want)
				}
			})
		}
	}
}

// At least one entry in damages or onFile must break each rule in rowRules.
func TestEveryRuleHasADamageThatBreaksIt(t *testing.T) {
	t.Parallel()
	for _, rule := range rowRules(&sqlite) {
		_, words, _ := strings.Cut(rule.says, "%s: ")
		words, _, _ = strings.Cut(words, "%s")
		broken := false
		for _, all := range []map[string]struct{ statements, want string }{damages, onFile} {
			for _, d := range all {
				broken = broken || strings.Contains(d.want, words)
			}
		}
		if !broken {
			t.Errorf("nothing breaks the rule %q", rule.says)
		}
	}
}

// If thousands of rows break a rule, the check reports only some of them and says that there are more.
func TestCheckLimitsFindingsOfARule(t *testing.T) {
	t.Parallel()
	database := copyEngines["file"](t)
	fillShop(t, database)
	execFile(t, database, `
		WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 5000)
		INSERT INTO pets (name, name_folded, category_id) SELECT 'Rex', 'rex', 0 FROM counted`)
	found := findings(t, database)
	if len(found) > 2*maxFindings || !slices.Contains(found, "there are more like these") {
		t.Errorf("%d findings: %q", len(found), found)
	}
}

// Check finds a damaged page anywhere in the file.
func TestCheckFindsDamageInEveryPage(t *testing.T) {
	t.Parallel()
	whole := copyEngines["file"](t)
	fillShop(t, whole)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	silent := []int{}
	for n := range len(content) / page {
		broken := slices.Clone(content)
		for i := n * page; i < n*page+page; i++ {
			broken[i] ^= 0x5a
		}
		path := filepath.Join(t.TempDir(), "broken.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Check(t.Context(), path, func(string) {})
		if err == nil && found.Damage == 0 {
			silent = append(silent, n)
		}
	}
	if len(silent) > 0 {
		t.Errorf("of %d pages, damage in these is not found: %v", len(content)/page, silent)
	}
}

func TestCheckRefusesWhatIsNoStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stranger := filepath.Join(dir, "songs.db")
	execFile(t, stranger, "CREATE TABLE songs (title TEXT)")
	newer := filepath.Join(dir, "newer.db")
	open(t, newer, sqlstore.Options{}).Close()
	execFile(t, newer, "PRAGMA user_version = 1000")
	for database, want := range map[string]string{
		filepath.Join(dir, "missing.db"): "no such file",
		dir:                              "is a directory",
		write("letter.db", strings.Repeat("Dear aunt,", 500)): "not a database",
		write("empty.db", ""):    "there is no store in it",
		stranger:                 "another program",
		newer:                    "newer animalstore",
		copyEngines["server"](t): "there is no store in it",
	} {
		if _, err := Check(t.Context(), database, func(string) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", database, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); err == nil {
		t.Error("a check created a database")
	}
}

// Check does not apply this version's rules to a store with an older schema.
func TestCheckSkipsRulesOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	steps, err := sqlstore.Migrations(sqlstore.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	execFile(t, path, steps[0]+fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = 1", applicationID))
	if found, err := Check(t.Context(), path, func(string) {}); !errors.Is(err, ErrOlderSchema) || found.All > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	execFile(t, path, "DROP INDEX orders_open")
	if found, err := Check(t.Context(), path, func(string) {}); !errors.Is(err, ErrOlderSchema) || found.All != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestCancelledCheckEnds(t *testing.T) {
	t.Parallel()
	path := copyEngines["file"](t)
	fillShop(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, path, func(string) {}); err == nil {
		t.Error("it went on")
	}
}
