package e2e

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
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
	f := programtest.NewFolderWithKey(t)
	database := pgtest.Shared(t).NewDatabase(t)
	f.Variables = append(f.Variables, "ANIMALSTORE_DATABASE="+database)
	p := f.Serve()
	p.Create(programtest.Pet{Name: "Rex", Status: "available"})
	last := lastEvent(t, p)
	p.Stop()
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
	f.MustRun("check")
	p = f.Serve()
	for what, made := range map[string]programtest.Response{
		"animal":   p.Send("POST", "/v1/pets", programtest.AdminKey, `{"name":"Mia","categoryId":0}`),
		"order":    p.Send("POST", "/v1/store/orders", programtest.AdminKey, `{"petId":1}`),
		"category": p.Send("POST", "/v1/categories", programtest.AdminKey, `{"name":"Cats"}`),
		"key":      p.Send("POST", "/v1/keys", programtest.AdminKey, `{"name":"n","scopes":["admin"]}`),
	} {
		if id := programtest.Decode[struct{ ID int64 }](t, made.Body).ID; id <= before {
			t.Errorf("the next %s has the ID %d, want more than %d", what, id, before)
		}
	}
	programtest.ExpectError(t, p.Send("GET", fmt.Sprintf("/v1/events?after=%d", last+1), programtest.AdminKey, ""), 410, "events_expired")
	p.Get(fmt.Sprintf("/v1/events?after=%d", last))
	if newest := lastEvent(t, p); newest <= before {
		t.Errorf("the newest event is %d, want more than %d", newest, before)
	}
	f.MustRun("check")
	p.Stop()
}
