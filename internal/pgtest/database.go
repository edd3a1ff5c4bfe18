package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// URL returns the URL of the server's default database.
func (s *Server) URL() string { return s.url("animalstore") }

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://animalstore@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// FailoverURL returns one URL for several servers. A client that uses this URL connects to the server that
// accepts writes.
func FailoverURL(servers ...*Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", s.port))
	}
	return fmt.Sprintf("postgres://animalstore@%s/animalstore?sslmode=disable&target_session_attrs=read-write",
		strings.Join(hosts, ","))
}

// NewDatabase creates an empty database and returns its URL. When the test ends, the database is dropped and
// all connections to it are terminated.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	return s.newDatabase(t, "template1")
}

// NewDatabaseInEncoding is like NewDatabase, but the database stores text in the given encoding.
func (s *Server) NewDatabaseInEncoding(t testing.TB, encoding string) string {
	t.Helper()
	return s.newDatabase(t, "template0 ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C'")
}

// NewDatabaseFrom is like NewDatabase, but the new database is a copy of one that fill has filled. fill runs
// once for each name and must close its connections.
func (s *Server) NewDatabaseFrom(t testing.TB, name string, fill func(url string) error) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.templates[name] {
		if err := s.exec("CREATE DATABASE " + name); err != nil {
			t.Fatal(err)
		}
		if err := fill(s.url(name)); err != nil {
			t.Fatal(err)
		}
		if s.templates == nil {
			s.templates = map[string]bool{}
		}
		s.templates[name] = true
	}
	return s.newDatabase(t, name)
}

func (s *Server) newDatabase(t testing.TB, template string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	// Try again if the template is in use, because PostgreSQL waits only a few seconds for the template's
	// last session to end.
	for deadline := time.Now().Add(stuckTimeout); ; {
		err := s.exec("CREATE DATABASE " + name + " TEMPLATE " + template)
		if err == nil {
			break
		}
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "55006" || time.Now().After(deadline) { // 55006 is object_in_use
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := s.showLog(t, name); err != nil {
			t.Error(err)
		}
		if s.process == nil {
			return
		}
		// Do not wait for the synchronous replica, because it may be down by now.
		if err := s.exec("SET synchronous_commit = local", "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.url(name)
}

// exec executes statements one by one on a new connection.
func (s *Server) exec(statements ...string) error {
	return s.connect(func(ctx context.Context, conn *pgx.Conn) error {
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
}

func (s *Server) connect(use func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stuckTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return use(ctx, conn)
}
