package e2e

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
)

var statements = regexp.MustCompile("(?s)```sql\n(BEGIN;.*?COMMIT;)\n```")

// TestRestoredDumpReusesNoIDs runs the SQL statements that the manual recommends after restoring a PostgreSQL
// dump. Afterwards, no ID may be reused, and clients that read the event feed must learn that events were
// lost.
func TestRestoredDumpReusesNoIDs(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	found := statements.FindSubmatch(manual)
	if found == nil {
		t.Fatal("docs/operating.md has no SQL transaction for a restored dump")
	}
	f := newFolderWithKey(t)
	database := pgtest.Shared(t).NewDatabase(t)
	f.variables = append(f.variables, "ANIMALSTORE_DATABASE="+database)
	p := f.serve()
	p.create(pet{Name: "Rex", Status: "available"})
	last := lastEvent(t, p)
	p.stop()
	before := time.Now().Add(-time.Minute).UnixMicro() // the database's clock may be slightly behind
	for range 2 {
		conn, err := pgx.Connect(t.Context(), database)
		if err == nil {
			_, err = conn.Exec(t.Context(), string(found[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
		conn.Close(t.Context())
	}
	f.mustRun("check")
	p = f.serve()
	for what, made := range map[string]response{
		"animal":   p.send("POST", "/v1/pets", adminKey, `{"name":"Mia","categoryId":0}`),
		"order":    p.send("POST", "/v1/store/orders", adminKey, `{"petId":1}`),
		"category": p.send("POST", "/v1/categories", adminKey, `{"name":"Cats"}`),
		"key":      p.send("POST", "/v1/keys", adminKey, `{"name":"n","scopes":["admin"]}`),
	} {
		if id := decode[struct{ ID int64 }](t, made.body).ID; id <= before {
			t.Errorf("the next %s has the ID %d, want more than %d", what, id, before)
		}
	}
	expectError(t, p.send("GET", fmt.Sprintf("/v1/events?after=%d", last+1), adminKey, ""), 410, "events_expired")
	p.get(fmt.Sprintf("/v1/events?after=%d", last))
	if newest := lastEvent(t, p); newest <= before {
		t.Errorf("the newest event is %d, want more than %d", newest, before)
	}
	f.mustRun("check")
	p.stop()
}
