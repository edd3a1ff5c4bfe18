package storeadmin

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

var manualTransaction = regexp.MustCompile("(?s)```sql\n(BEGIN;.*?COMMIT;)\n```")

// TestRestoredDumpReusesNoIDs runs the SQL statements that the manual recommends after restoring a PostgreSQL
// dump. Afterwards, no ID may be reused, and clients that read the event feed must learn that events were
// lost.
func TestRestoredDumpReusesNoIDs(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	found := manualTransaction.FindSubmatch(manual)
	if found == nil {
		t.Fatal("docs/operating.md has no SQL transaction for a restored dump")
	}
	database := pgtest.Shared(t).NewDatabase(t)
	openShop := func() *shoptest.Shop {
		t.Helper()
		s, err := shoptest.OpenAt(t.Context(), database, shop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	lastEvent := func(s *shoptest.Shop) int64 {
		t.Helper()
		page, err := s.ListEvents(t.Context(), shop.EventFilter{Newest: true}, shop.PageRequest{Limit: 1})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("newest event: got %+v, %v, want one", page, err)
		}
		id, err := strconv.ParseInt(page.Items[0].ID, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	s := openShop()
	rex := s.AddPet(t, "Rex", 0, shop.Available)
	last := lastEvent(s)
	s.Store.Close()

	before := time.Now().Add(-time.Minute).UnixMicro() // the database's clock may be slightly behind
	for range 2 {                                      // running the statements twice does no harm
		conn, err := pgx.Connect(t.Context(), database)
		if err == nil {
			_, err = conn.Exec(t.Context(), string(found[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
		conn.Close(context.Background())
	}
	if got := findings(t, database); len(got) > 0 {
		t.Errorf("findings after the statements: %q", got)
	}

	s = openShop()
	defer s.Store.Close()
	next := map[string]func() (int64, error){
		"animal": func() (int64, error) {
			pet, err := s.CreatePet(t.Context(), shop.NewPet{Name: "Mia"})
			return pet.ID, err
		},
		"order": func() (int64, error) {
			order, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: rex.ID})
			return order.ID, err
		},
		"category": func() (int64, error) {
			category, err := s.CreateCategory(t.Context(), "Cats")
			return category.ID, err
		},
		"key": func() (int64, error) {
			key, err := s.CreateKey(t.Context(), shop.NewKey{Name: "n", Scopes: []shop.Scope{shop.Admin}})
			return key.ID, err
		},
	}
	for what, create := range next {
		if id, err := create(); err != nil || id <= before {
			t.Errorf("next %s: got the ID %d, %v, want more than %d", what, id, err, before)
		}
	}
	lost := last + 1
	if _, err := s.ListEvents(t.Context(), shop.EventFilter{}, shop.PageRequest{Limit: 10, After: &lost}); err == nil || shop.AsError(err).Code != shop.EventsExpired {
		t.Errorf("events after one that was lost: got %v, want %s", err, shop.EventsExpired)
	}
	if _, err := s.ListEvents(t.Context(), shop.EventFilter{}, shop.PageRequest{Limit: 10, After: &last}); err != nil {
		t.Errorf("events after one in the dump: got %v", err)
	}
	if newest := lastEvent(s); newest <= before {
		t.Errorf("newest event: got %d, want more than %d", newest, before)
	}
	if got := findings(t, database); len(got) > 0 {
		t.Errorf("findings in the end: %q", got)
	}
}
