package e2e

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// TestReadyzReportsReadOnlyServer makes the PostgreSQL server read-only. The /readyz endpoint must report
// this even before a write fails.
func TestReadyzReportsReadOnlyServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	p := programtest.NewFolder(t, "ANIMALSTORE_API_KEY="+programtest.AdminKey, "ANIMALSTORE_DATABASE="+server.URL()).Serve()
	p.DatabaseMayFail = true
	programtest.ExpectStatus(t, p.Send("GET", "/readyz", "", ""), http.StatusOK)
	execute := func(statements ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), programtest.WaitTimeout)
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
	programtest.Await(t, "/readyz to report the read-only database", func() bool {
		a := p.Send("GET", "/readyz", "", "")
		return a.Status == http.StatusServiceUnavailable && strings.Contains(a.Body, "can be read, but not written")
	})
	if strings.Contains(p.Send("GET", "/readyz", "", "").Body, "postgres://") {
		t.Error("/readyz reveals the URL of the database")
	}
	programtest.ExpectStatus(t, p.Send("GET", "/livez", "", ""), http.StatusOK)
	execute("SET default_transaction_read_only = off", "ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
	programtest.Await(t, "/readyz to get 200", func() bool { return p.Send("GET", "/readyz", "", "").Status == http.StatusOK })
	p.Create(programtest.Pet{Name: "Rex"})
}

// hideDatabase renames the database file while the program is using it.
func hideDatabase(f *programtest.Folder, p *programtest.Program) {
	f.T.Helper()
	p.DatabaseMayFail = true
	if err := os.Rename(f.Path("animalstore.db"), f.Path("elsewhere.db")); err != nil {
		f.T.Fatal(err)
	}
}

// TestReadyzReportsMissingDatabaseFile renames the database file. The /readyz endpoint must fail until the
// file has its original name again.
func TestReadyzReportsMissingDatabaseFile(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	hideDatabase(f, p)
	a := p.Send("GET", "/readyz", "", "")
	programtest.ExpectError(t, a, http.StatusServiceUnavailable, "unavailable")
	if !strings.Contains(a.Body, "removed or replaced") || strings.Contains(a.Body, f.Dir) {
		t.Errorf("got %s, want \"removed or replaced\" without the path", a.Body)
	}
	if err := os.Rename(f.Path("elsewhere.db"), f.Path("animalstore.db")); err != nil {
		t.Fatal(err)
	}
	programtest.ExpectStatus(t, p.Send("GET", "/readyz", "", ""), http.StatusOK)
}
