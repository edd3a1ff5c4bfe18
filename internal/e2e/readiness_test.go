package e2e

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
)

// TestReadyzReportsReadOnlyServer makes the PostgreSQL server read-only. The /readyz endpoint must report
// this even before a write fails.
func TestReadyzReportsReadOnlyServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	p := newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_DATABASE="+server.URL()).serve()
	p.databaseMayFail = true
	expectStatus(t, p.send("GET", "/readyz", "", ""), http.StatusOK)
	execute := func(statements ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
		defer cancel()
		conn, err := pgx.Connect(ctx, server.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	execute("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	await(t, "/readyz to report the read-only database", func() bool {
		a := p.send("GET", "/readyz", "", "")
		return a.status == http.StatusServiceUnavailable && strings.Contains(a.body, "can be read, but not written")
	})
	if strings.Contains(p.send("GET", "/readyz", "", "").body, "postgres://") {
		t.Error("/readyz reveals the URL of the database")
	}
	expectStatus(t, p.send("GET", "/livez", "", ""), http.StatusOK)
	execute("SET default_transaction_read_only = off", "ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
	await(t, "/readyz to get 200", func() bool { return p.send("GET", "/readyz", "", "").status == http.StatusOK })
	p.create(pet{Name: "Rex"})
}

// hideDatabase renames the database file while the program is using it.
func (f *folder) hideDatabase(p *program) {
	f.t.Helper()
	p.databaseMayFail = true
	if err := os.Rename(f.path("animalstore.db"), f.path("elsewhere.db")); err != nil {
		f.t.Fatal(err)
	}
}

// TestReadyzReportsMissingDatabaseFile renames the database file. The /readyz endpoint must fail until the
// file has its original name again.
func TestReadyzReportsMissingDatabaseFile(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	f.hideDatabase(p)
	a := p.send("GET", "/readyz", "", "")
	expectError(t, a, http.StatusServiceUnavailable, "unavailable")
	if !strings.Contains(a.body, "removed or replaced") || strings.Contains(a.body, f.dir) {
		t.Errorf("got %s, want \"removed or replaced\" without the path", a.body)
	}
	if err := os.Rename(f.path("elsewhere.db"), f.path("animalstore.db")); err != nil {
		t.Fatal(err)
	}
	expectStatus(t, p.send("GET", "/readyz", "", ""), http.StatusOK)
}
