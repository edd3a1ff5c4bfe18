package storeadmin

import (
	"context"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

var manualTransaction = regexp.MustCompile("(?s)```sql\n(BEGIN;.*?COMMIT;)\n```")

// TestRestoredDumpReusesNoIDs runs the SQL statements that the manual recommends after restoring a PostgreSQL
// dump. Afterwards, no ID may be reused, and clients that read the event feed must learn that events were
// lost.
func TestRestoredDumpReusesNoIDs(t *testing.T) {
	t.Parallel()
	found := manualTransaction.FindSubmatch(must(os.ReadFile("../../docs/operating.md"))(t))
	if found == nil {
		t.Fatal("docs/operating.md has no SQL transaction for a restored dump")
	}
	database := pgtest.Shared(t).NewDatabase(t)
	s := openShop(t, database)
	rex := s.AddPet(t, "Rex", 0, shop.Available)
	last := must(s.LastEvent(t.Context()))(t)
	s.Store.Close()

	before := time.Now().Add(-time.Minute).UnixMicro() // the database's clock may be slightly behind
	for range 2 {                                      // running the statements twice does no harm
		conn := must(pgx.Connect(t.Context(), database))(t)
		must(conn.Exec(t.Context(), string(found[1])))(t)
		conn.Close(context.Background())
	}
	expectSound(t, database)

	s = openShop(t, database)
	defer s.Store.Close()
	for what, id := range map[string]int64{
		"animal":   must(s.CreatePet(t.Context(), shop.NewPet{Name: "Mia"}))(t).ID,
		"order":    must(s.PlaceOrder(t.Context(), shop.NewOrder{PetID: rex.ID}))(t).ID,
		"category": must(s.CreateCategory(t.Context(), "Cats"))(t).ID,
		"key":      must(s.CreateKey(t.Context(), shop.NewKey{Name: "n", Scopes: []shop.Scope{shop.Admin}}))(t).ID,
		"event":    must(s.LastEvent(t.Context()))(t),
	} {
		if id <= before {
			t.Errorf("next %s: got the ID %d, want more than %d", what, id, before)
		}
	}
	for after, want := range map[int64]shop.Code{last: "", last + 1: shop.EventsExpired} { // the latter was lost
		_, err := s.ListEvents(t.Context(), shop.EventFilter{}, shop.PageRequest{Limit: 10, After: &after})
		if err == nil && want != "" || err != nil && shop.AsError(err).Code != want {
			t.Errorf("events after %d: got %v, want the error code %q", after, err, want)
		}
	}
	expectSound(t, database)
}
