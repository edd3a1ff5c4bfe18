package storeadmin

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// copyEngines has a function for each engine that returns the address of a new, empty database.
var copyEngines = map[string]func(t *testing.T) string{
	"file":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") },
	"server": func(t *testing.T) string { return pgtest.Shared(t).NewDatabase(t) },
}

// onCopyEngines runs a test for every combination of a source engine and a target engine.
func onCopyEngines(t *testing.T, test func(t *testing.T, from, to string)) {
	for from := range copyEngines {
		for to := range copyEngines {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				test(t, copyEngines[from](t), copyEngines[to](t))
			})
		}
	}
}

func silent(CopyProgress) {}

func mustCopy(t *testing.T, from, to string) []Copied {
	t.Helper()
	copied, err := Copy(t.Context(), from, to, silent)
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// with opens a store, publishes its events, runs fn in a write transaction and closes the store.
func with(t *testing.T, database string, fn func(shop.WriteTx) error) {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), database, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Publish(t.Context()), store.Write(t.Context(), fn), store.Close()); err != nil {
		t.Fatal(err)
	}
}

// execOn creates the schema if necessary and then executes statements directly in the database.
func execOn(t *testing.T, database string, statements ...string) {
	t.Helper()
	e, err := openEndpoint(t.Context(), database, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(execAll(t.Context(), e.Conn, statements...), e.close()); err != nil {
		t.Fatal(err)
	}
}

var (
	copyNow    = time.Date(2030, 1, 2, 3, 4, 5, 678901000, time.UTC)
	oldSecret  = shop.HashSecret("old")
	newSecret  = shop.HashSecret("new")
	lostSecret = shop.HashSecret("lost")
	// The alphabetical order of keptKeys differs from their byte order.
	keptKeys = []string{"a", "B", "b", "é", "z", "Z", "-", "_"}
)

// fillStore inserts every kind of row.
func fillStore(t *testing.T, database string) {
	t.Helper()
	with(t, database, func(tx shop.WriteTx) error {
		steps := []error{tx.SetEnvironment(shop.Staging)}
		do := func(err error) { steps = append(steps, err) }
		for _, id := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			_, err := tx.EnsureCategories(id)
			do(err)
		}
		assigned, err := tx.AssignCategoryID()
		do(err)
		do(tx.InsertCategory(shop.Category{ID: assigned, Name: "Vögel 🦜"}))
		gone, err := tx.AssignCategoryID()
		do(err)
		do(tx.InsertCategory(shop.Category{ID: gone, Name: "gone"}))
		do(tx.DeleteCategory(shop.Category{ID: gone}))
		var pets []shop.Pet
		for i, name := range []string{"Rex", "ÄRGER", "猫 🐈‍⬛", `quote " \ '`, "tab\there\nline", "", strings.Repeat("x", 10_000)} {
			added, err := tx.InsertPets(shop.NewPet{Name: name, CategoryID: []int64{math.MinInt64, math.MaxInt64, 0}[i%3],
				Status: []shop.Status{shop.Available, shop.Pending, shop.Sold, ""}[i%4]})
			do(err)
			pets = append(pets, added...)
		}
		after := pets[0]
		after.Status = shop.Pending
		do(tx.UpdatePet(pets[0], after))
		do(tx.DeletePet(pets[len(pets)-1])) // the id of this newest pet must not be assigned again
		_, err = tx.InsertOrder(shop.Order{PetID: pets[0].ID, Status: shop.Placed, Reference: "Größe", CreatedAt: copyNow,
			UpdatedAt: copyNow, HoldExpiresAt: copyNow.Add(time.Hour)})
		do(err)
		for i, status := range []shop.OrderStatus{shop.Approved, shop.Delivered, shop.Cancelled, shop.Expired} {
			_, err := tx.InsertOrder(shop.Order{PetID: int64(i) + math.MaxInt64 - 10, Status: status, CreatedAt: copyNow, UpdatedAt: copyNow})
			do(err)
		}
		for _, key := range []shop.Key{
			{Name: "rotated", Scopes: []shop.Scope{shop.Admin, shop.PetsRead}, Hint: "wxyz", CreatedAt: copyNow},
			{Name: "expired", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: copyNow, ExpiresAt: copyNow.Add(-time.Hour)},
			{Name: "revoked", CreatedAt: copyNow},
		} {
			_, err := tx.InsertKey(key)
			do(err)
		}
		do(tx.InsertSecret(1, oldSecret))
		do(tx.ExpireSecrets(1, copyNow, copyNow.Add(time.Hour)))
		do(tx.InsertSecret(1, newSecret))
		do(tx.InsertSecret(3, lostSecret))
		do(tx.DeleteKey(shop.Key{ID: 3}))
		do(tx.SetKeyLastUsed(2, copyNow))
		do(tx.InsertSession(shop.HashSecret("token"), shop.Session{Secret: newSecret, EndsAt: copyNow.Add(time.Hour)}))
		for i, key := range keptKeys {
			do(tx.PutIdempotencyRecord(int64(i%2)*math.MaxInt64, key, shop.IdempotencyRecord{Fingerprint: newSecret, At: copyNow, StoredResponse: shop.StoredResponse{Status: 201,
				Location: "/pets/ä", Tag: `"ä"`, Body: []byte("\x00\xff" + key)}}))
		}
		for _, subject := range []string{"pets/1", "categories/ä"} {
			do(tx.InsertEvents(shop.NewEvent{Type: shop.PetCreated, Subject: subject, Actor: "keys/1", Data: []byte(`{"current":"🐈","previous":null}`)}))
		}
		for _, types := range [][]shop.EventType{nil, {shop.PetCreated, shop.OrderPlaced}} {
			hook, err := tx.InsertWebhook(shop.Webhook{URL: "https://example.com/ä?b", Types: types, Enabled: types == nil, CreatedAt: copyNow,
				UpdatedAt: copyNow, Position: 1, DisabledReason: strings.Repeat("gone", len(types)), FailingSince: copyNow})
			do(err)
			do(tx.InsertWebhookSecret(hook.ID, "whsec_old", copyNow))
			do(tx.ExpireWebhookSecrets(hook.ID, copyNow, copyNow.Add(time.Hour)))
			do(tx.InsertWebhookSecret(hook.ID, "whsec_new", copyNow.Add(time.Second)))
			_, err = tx.InsertDelivery(shop.Delivery{WebhookID: hook.ID, MessageID: "evt_1", EventID: "1", EventType: shop.PetCreated,
				Status: shop.DeliveryPending, CreatedAt: copyNow, NextAttemptAt: copyNow, ClaimedUntil: copyNow.Add(time.Minute), Body: []byte("{}"),
				Attempts: []shop.Attempt{{At: copyNow, Status: 500, Response: "ä\x00"}}})
			do(err)
		}
		do(tx.PutIdempotencyRecord(7, "no body", shop.IdempotencyRecord{At: copyNow, StoredResponse: shop.StoredResponse{Status: 204, Body: []byte{}}}))
		return errors.Join(steps...)
	})
}

// storeContents returns everything that can be read from a store.
func storeContents(t *testing.T, database string) []any {
	t.Helper()
	var all []any
	with(t, database, func(tx shop.WriteTx) error {
		var problems []error
		keep := func(value any, err error) { all, problems = append(all, value), append(problems, err) }
		w := shop.PageRequest{Limit: 1000}
		environment, err := tx.Environment()
		keep(environment, err)
		pets, err := tx.Pets(shop.PetList{PageRequest: w})
		keep(pets, err)
		found, err := tx.Pets(shop.PetList{PageRequest: w, PetFilter: shop.PetFilter{Query: "ärg"}})
		keep(found, err)
		categories, err := tx.Categories(w)
		keep(categories, err)
		inventory, err := tx.Inventory()
		keep(inventory, err)
		orders, err := tx.Orders(shop.OrderList{PageRequest: w})
		keep(orders, err)
		due, err := tx.DueOrders(copyNow.Add(2 * time.Hour))
		keep(due, err)
		keys, err := tx.Keys(w)
		keep(keys, err)
		events, err := tx.Events(shop.EventFilter{}, w)
		for i := range events {
			events[i].Time = time.Time{} // this time is set by the store's own clock
		}
		keep(events, err)
		last, err := tx.LastEvent()
		keep(last, err)
		for id := range int64(3) {
			hook, found, err := tx.Webhook(id)
			keep([]any{hook, found}, err)
			secrets, err := tx.WebhookSecrets(id, copyNow)
			keep(secrets, err)
			deliveries, err := tx.Deliveries(shop.DeliveryList{WebhookID: id, PageRequest: w})
			keep(deliveries, err)
		}
		for _, secret := range []shop.SecretHash{oldSecret, newSecret, lostSecret} {
			credential, found, err := tx.Credential(secret)
			keep([]any{credential, found}, err)
		}
		session, signedIn, err := tx.Session(shop.HashSecret("token"))
		keep([]any{session, signedIn}, err)
		for i, key := range append(keptKeys, "no body") {
			kept, found, err := tx.IdempotencyRecord([]int64{int64(i%2) * math.MaxInt64, 7}[i/len(keptKeys)], key)
			// Drivers return a missing body either as nil or as an empty slice.
			kept.Body = append([]byte{}, kept.Body...)
			keep([]any{kept, found}, err)
		}
		return errors.Join(problems...)
	})
	return all
}

// nextIDs returns the ids that a store assigns to the next row of each kind.
func nextIDs(t *testing.T, database string) (next [6]int64) {
	t.Helper()
	with(t, database, func(tx shop.WriteTx) error {
		pets, petErr := tx.InsertPets(shop.NewPet{Name: "next"})
		if petErr != nil {
			return petErr
		}
		pet := pets[0]
		order, orderErr := tx.InsertOrder(shop.Order{PetID: pet.ID, Status: shop.Cancelled})
		key, keyErr := tx.InsertKey(shop.Key{Name: "next"})
		category, categoryErr := tx.AssignCategoryID()
		hook, hookErr := tx.InsertWebhook(shop.Webhook{})
		delivery, deliveryErr := tx.InsertDelivery(shop.Delivery{Status: shop.DeliveryPending})
		next = [6]int64{pet.ID, order.ID, key.ID, category, hook.ID, delivery.ID}
		return errors.Join(orderErr, keyErr, categoryErr, hookErr, deliveryErr)
	})
	return next
}

// After a store has been copied to another database and back, all three databases have the same contents and
// assign the same ids next.
func TestCopyRoundTrip(t *testing.T) {
	t.Parallel()
	onCopyEngines(t, func(t *testing.T, from, to string) {
		fillStore(t, from)
		want := storeContents(t, from)
		copied := mustCopy(t, from, to)
		var back string
		if sqlstore.IsURL(from) {
			back = copyEngines["server"](t)
		} else {
			back = copyEngines["file"](t)
		}
		if diff := cmp.Diff(copied, mustCopy(t, to, back)); diff != "" {
			t.Errorf("the way back copied something else:\n%s", diff)
		}
		for name, database := range map[string]string{"source": from, "target": to, "back": back} {
			if diff := cmp.Diff(want, storeContents(t, database)); diff != "" {
				t.Errorf("the %s answers otherwise:\n%s", name, diff)
			}
			if got, want := nextIDs(t, database), [6]int64{8, 6, 4, 4, 3, 3}; got != want {
				t.Errorf("the %s goes on with %v, want %v", name, got, want)
			}
		}
	})
}

// The order in which rows are copied does not depend on the server's collation.
func TestCopyDoesNotDependOnCollation(t *testing.T) {
	t.Parallel()
	from, to, back := copyEngines["file"](t), copyEngines["server"](t), copyEngines["file"](t)
	fillStore(t, from)
	execOn(t, to, `ALTER TABLE kept_answers ALTER COLUMN key TYPE TEXT COLLATE "en-x-icu"`)
	if diff := cmp.Diff(mustCopy(t, from, to), mustCopy(t, to, back)); diff != "" {
		t.Error(diff)
	}
}

// A copy keeps even the largest possible last id, because a sequence that starts over would assign ids again.
func TestCopyKeepsTheLastID(t *testing.T) {
	t.Parallel()
	from, to, back := copyEngines["file"](t), copyEngines["server"](t), copyEngines["file"](t)
	with(t, from, func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Production) })
	execOn(t, from, "INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', 9223372036854775807), ('orders', 9223372036854775806)")
	copied := mustCopy(t, from, to)
	if copied[2].Last != math.MaxInt64 || copied[4].Last != math.MaxInt64-1 {
		t.Errorf("%v", copied)
	}
	if diff := cmp.Diff(copied, mustCopy(t, to, back)); diff != "" {
		t.Error(diff)
	}
}

// A copy includes events that the server has not published yet.
func TestCopyIncludesUnpublishedEvents(t *testing.T) {
	t.Parallel()
	from, to := copyEngines["server"](t), copyEngines["file"](t)
	event := func(subject string) shop.NewEvent {
		return shop.NewEvent{Type: shop.PetCreated, Subject: subject, Actor: "system", Data: []byte("{}")}
	}
	with(t, from, func(tx shop.WriteTx) error {
		return errors.Join(tx.SetEnvironment(shop.Production), tx.InsertEvents(event("published")))
	})
	with(t, from, func(tx shop.WriteTx) error {
		return errors.Join(tx.InsertEvents(event("first")), tx.InsertEvents(event("second")))
	})
	mustCopy(t, from, to)
	with(t, to, func(tx shop.WriteTx) error { return tx.InsertEvents(event("next")) })
	with(t, to, func(tx shop.WriteTx) error {
		events, err := tx.Events(shop.EventFilter{}, shop.PageRequest{Limit: 10})
		got := map[int64]string{}
		for _, e := range events {
			got[e.ID] = e.Subject
		}
		if diff := cmp.Diff(map[int64]string{1: "published", 2: "first", 3: "second", 4: "next"}, got); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

func TestCopyRefusesUnfitDatabases(t *testing.T) {
	t.Parallel()
	onCopyEngines(t, func(t *testing.T, from, to string) {
		fillStore(t, from)
		expect := func(from, to, want string) {
			t.Helper()
			if _, err := Copy(t.Context(), from, to, silent); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
		expect(from, from, "the same database")
		expect(to, from, map[bool]string{true: "no store in it", false: "no such file"}[sqlstore.IsURL(to)])
		for table, change := range map[string][2]string{
			"settings":   {"INSERT INTO settings (name, value) VALUES ('x', 'y')", "DELETE FROM settings"},
			"categories": {"INSERT INTO categories (id) VALUES (5)", "DELETE FROM categories"},
			"inventory":  {"UPDATE inventory SET n = 1 WHERE status = 'sold'", "UPDATE inventory SET n = 0"},
			"keys":       {"INSERT INTO keys (name, scopes, hint, created_at) VALUES ('', '', '', 0)", "DELETE FROM keys"},
		} {
			execOn(t, to, change[0])
			expect(from, to, "not empty: there are rows in "+table)
			execOn(t, to, change[1])
		}
		if sqlstore.IsURL(to) {
			execOn(t, to, "INSERT INTO inventory_changes (status, n) VALUES ('sold', 1)")
			expect(from, to, "not empty: there are rows in inventory_changes")
			execOn(t, to, "DELETE FROM inventory_changes")
		}
		for name, served := range map[string]string{"source": from, "target": to} {
			if !sqlstore.IsURL(served) {
				store := open(t, served, sqlstore.Options{Exclusive: true})
				expect(from, to, "the "+name+": cannot lock the database")
				store.Close()
			}
		}
		mustCopy(t, from, to)
		expect(from, to, "not empty")
	})
	t.Run("other names of the same", func(t *testing.T) {
		t.Parallel()
		file, server := copyEngines["file"](t), copyEngines["server"](t)
		fillStore(t, file)
		fillStore(t, server)
		if err := os.Symlink(file, file+".link"); err != nil {
			t.Fatal(err)
		}
		for from, to := range map[string]string{file: file + ".link", server: server + "&application_name=x"} {
			if _, err := Copy(t.Context(), from, to, silent); !errors.Is(err, errSameDatabase) {
				t.Errorf("%v", err)
			}
		}
	})
}

// An interrupted copy leaves an empty target and can be repeated.
func TestInterruptedCopyLeavesNothing(t *testing.T) {
	t.Parallel()
	onCopyEngines(t, func(t *testing.T, from, to string) {
		fillStore(t, from)
		execOn(t, from, `
			WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 1200)
			INSERT INTO pets (name, name_folded, category_id) SELECT 'Rex', 'rex', 0 FROM counted`)
		for _, at := range []CopyProgress{
			{Doing: "copying", Table: "pets", Rows: 1000},
			{Doing: "copying", Table: "keys", Rows: 2},
			{Doing: "checking", Table: "pets", Rows: 1000},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := Copy(ctx, from, to, func(p CopyProgress) {
				if p.Of = 0; p == at {
					cancel()
				}
			})
			if err == nil || ctx.Err() == nil {
				t.Errorf("cancelled at %+v: %v", at, err)
			}
			cancel()
			expectEmpty(t, to)
		}
		mustCopy(t, from, to)
	})
}

func expectEmpty(t *testing.T, database string) {
	t.Helper()
	e, err := openEndpoint(t.Context(), database, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	if err := e.beginWrite(t.Context()); err != nil {
		t.Error(err)
	}
	for _, table := range copiedTables {
		if last, err := e.lastID(t.Context(), &table); err != nil || last != 0 {
			t.Errorf("%s would go on after %d, %v", table.name, last, err)
		}
	}
}

// A copy fails if the target does not store exactly what was sent to it.
func TestCopyDetectsADifferentTarget(t *testing.T) {
	t.Parallel()
	from := copyEngines["file"](t)
	fillStore(t, from)
	for name, trigger := range map[string][]string{
		"file": {"CREATE TRIGGER meddle AFTER INSERT ON keys BEGIN UPDATE keys SET hint = 'XXXX' WHERE id = NEW.id; END"},
		"server": {"CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.hint = 'XXXX'; RETURN NEW; END $$",
			"CREATE TRIGGER meddle BEFORE INSERT ON keys FOR EACH ROW EXECUTE FUNCTION meddle()"},
	} {
		t.Run(name, func(t *testing.T) {
			to := copyEngines[name](t)
			execOn(t, to, trigger...)
			if _, err := Copy(t.Context(), from, to, silent); err == nil || !strings.Contains(err.Error(), "the target would have keys 2 rows") {
				t.Errorf("got %v", err)
			}
			expectEmpty(t, to)
		})
	}
}
