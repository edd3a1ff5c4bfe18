package storeadmin

// damage is what statements do to a sound shop. want is a part of the finding that Check must report.
type damage struct{ statements, want string }

// damages are possible on both engines.
var damages = map[string]damage{
	"two open orders":                   {"DROP INDEX orders_open; UPDATE orders SET pet_id = 1 WHERE id = 2", "pets 1: 2 open orders hold it"},
	"an open order without its animal":  {"UPDATE orders SET pet_id = 6 WHERE id = 1", "orders 1: it is placed, but pet 6 does not exist"},
	"an animal that is held and free":   {"UPDATE pets SET status = 'available' WHERE id = 2", "pets 2: held by order 2, but its status is available instead of pending"},
	"an animal that is held, no status": {"UPDATE pets SET status = NULL WHERE id = 1", "pets 1: held by order 1, but its status is unspecified instead of pending"},
	"an order of no animal ever":        {"UPDATE orders SET pet_id = 8 WHERE id = 3", "orders 3: it refers to a pet that never existed: 8"},
	"a key whose secrets end":           {"UPDATE key_secrets SET ends_at = 1 WHERE key_id = 1", "keys 1: it has no secret without an end"},
	"a short hash":                      {"UPDATE key_secrets SET hash = '\\x0102' WHERE key_id = 1", "keys 1: the hash of one of its secrets is not a SHA-256"},
	"a webhook without a secret":        {"DELETE FROM webhook_secrets", "webhooks 1: it has no secret to sign with"},
	"a webhook in the future":           {"UPDATE webhooks SET position = 10000", "webhooks 1: its position 10000 is after the last event"},
	"a webhook half enabled":            {"UPDATE webhooks SET enabled = 2", "webhooks 1: it is neither enabled nor disabled"},
	"a webhook enabled for a reason":    {"UPDATE webhooks SET disabled_reason = 'x'", "webhooks 1: it is neither enabled nor disabled"},
	"a delivery that does not end":      {"UPDATE deliveries SET next_at = 1 WHERE id = 1", "deliveries 1: it has succeeded, but would be retried"},
	"an animal that vanished":           {"DELETE FROM pets WHERE id = 5; UPDATE inventory SET n = n - 1 WHERE status = 'available'", "pets/5: it does not exist, but there is an event pet.restored, and none of its removal"},
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
	"an animal that is not found":       {"DELETE FROM pet_search WHERE gram = (SELECT min(gram) FROM pet_search)", "it is missing from the search index"},
	"an order that is not found":        {"UPDATE order_search SET ids = '\\x0102'", "orders 1: it is missing from the search index"},
	"a missing index":                   {"DROP INDEX pets_category_status", "schema: the index pets_category_status is missing"},
	"a missing table":                   {"DROP TABLE kept_answers", "schema: the table kept_answers is missing"},
}

// onFile is like damages, but for damage that only a SQLite file can have, because a server rejects the
// statements.
var onFile = map[string]damage{
	"an id that comes back":        {"UPDATE sqlite_sequence SET seq = 3 WHERE name = 'pets'", "pets 7: its id would be assigned again; the last assigned id is 3"},
	"no count of a status":         {"DELETE FROM inventory WHERE status = 'pending'", "inventory pending: its count is missing"},
	"an animal without a category": {"UPDATE pets SET category_id = 99 WHERE id = 5", "pets 5: it refers to a row of categories that does not exist"},
	"a secret without a key":       {"DELETE FROM keys", "key_secrets: it refers to a row of keys that does not exist"},
	"an odd status of an order":    {"PRAGMA ignore_check_constraints = 1; UPDATE orders SET status = 'lost' WHERE id = 4", "orders 4: invalid order status lost"},
	"an odd status of a delivery":  {"PRAGMA ignore_check_constraints = 1; UPDATE deliveries SET status = 'lost'", "deliveries 1: invalid delivery status lost"},
	"a hold of what is over":       {"PRAGMA ignore_check_constraints = 1; UPDATE orders SET hold_expires_at = 1 WHERE id = 4", "orders 4: it is cancelled, which does not fit its hold"},
	"an odd status":                {"PRAGMA ignore_check_constraints = 1; UPDATE pets SET status = 'lost' WHERE id = 5", "pets 5: invalid status lost"},
	"another table":                {"ALTER TABLE pets ADD COLUMN colour TEXT", "schema: the table pets differs from the migrations"},
	"another index":                {"DROP INDEX orders_open; CREATE INDEX orders_open ON orders (pet_id)", "schema: the index orders_open differs from the migrations"},
	"a stranger":                   {"CREATE TABLE songs (title TEXT)", "schema: the table songs does not belong to the store"},
	"a trigger":                    {"CREATE TRIGGER meddle AFTER INSERT ON pets BEGIN DELETE FROM pets; END", "schema: the trigger meddle does not belong to the store"},
}

// onServer is like damages, but for damage that only a PostgreSQL server can have.
var onServer = map[string]damage{
	"an id that comes back":     {"ALTER SEQUENCE pets_id_seq RESTART WITH 4", "pets 7: its id would be assigned again; the last assigned id is 3"},
	"no count of a status":      {"DELETE FROM inventory_changes WHERE status = 'sold'; DELETE FROM inventory WHERE status = 'sold'", "inventory sold: its count is missing"},
	"a column of another type":  {"ALTER TABLE pets ALTER COLUMN name_folded TYPE VARCHAR(100)", "schema: the table column pets.name_folded differs from the migrations"},
	"a missing column":          {"ALTER TABLE orders DROP COLUMN updated_at", "schema: the table column orders.updated_at is missing"},
	"a trigger that is off":     {"ALTER TABLE pets DISABLE TRIGGER pet_search_insert", "schema: the trigger pet_search_insert is missing"},
	"a constraint not enforced": {"ALTER TABLE pets DROP CONSTRAINT pets_category_id_fkey; ALTER TABLE pets ADD CONSTRAINT later FOREIGN KEY (category_id) REFERENCES categories (id) NOT VALID", "schema: the constraint later is not valid: rows may violate it"},
}
