package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"animalstore/internal/leaktest"
	"animalstore/internal/sqlstore/engine"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// ample is the time for operations that must succeed. It is longer than a client would wait, because a busy machine may
// need more time.
const ample = time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// namesUnit is a unit of names. A declared write returns the name that it adds, or an error.
type namesUnit struct{ names []string }

type declared func() (name string, err error)

func (u *namesUnit) Load(*engine.Batch, []any) {}

func (u *namesUnit) Run(write any) error {
	name, err := write.(declared)()
	if err == nil {
		u.names = append(u.names, name)
	}
	return err
}

var nameInsertion = &engine.Insertion{Table: "names", Columns: "name", Types: []string{"TEXT"}}

func (u *namesUnit) Save(b *engine.Batch) engine.Touched {
	names := u.names
	u.names = nil
	b.Insert(nameInsertion, len(names), func(args []any, row int) []any { return append(args, names[row]) })
	return 0
}

func (u *namesUnit) Forget() {}

// file is an engine with shorter methods for tests.
type file struct{ *Engine }

func options() Options {
	return Options{
		Options: engine.Options{
			Timeout: ample, Metrics: engine.NewMetrics(), NewUnit: func() engine.Unit { return &namesUnit{} },
			AfterWrite: func(engine.Touched, bool) {},
		},
		Schema:    Schema{ApplicationID: 7, Migrations: []string{"CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL)"}},
		Exclusive: true, ReadProbe: "SELECT name FROM names LIMIT 1",
		WriteProbe: `
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			INSERT INTO names (name) SELECT printf('%.1024c', '-') FROM n`,
	}
}

func openNew(t *testing.T) *file {
	return openPath(t, filepath.Join(t.TempDir(), "test.db"), options())
}

func openPath(t *testing.T, path string, o Options) *file {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &file{s}
}

// Write runs fn alone.
func (f *file) Write(ctx context.Context, fn func(*engine.Tx) error) error {
	return f.Engine.Write(ctx, engine.WriteOptions{}, func(t *engine.Tx) (engine.Touched, error) { return 0, fn(t) })
}

func (f *file) Read(ctx context.Context, fn func(*engine.Tx) error) error {
	_, err := f.Engine.Read(ctx, engine.ReadOptions{}, fn)
	return err
}

// add adds a name in a group.
func (f *file) add(ctx context.Context, name string) error {
	return f.Engine.Write(ctx, engine.WriteOptions{Declared: declared(func() (string, error) { return name, nil })}, nil)
}

func executing(text string, args ...any) func(*engine.Tx) error {
	return func(t *engine.Tx) error { return t.Exec(text, args...) }
}

func adding(name string) func(*engine.Tx) error {
	return executing("INSERT INTO names (name) VALUES ($1)", name)
}

// names returns all names, separated by spaces.
func names(t *testing.T, f *file) string {
	t.Helper()
	var all []string
	must(t, f.Read(t.Context(), func(tx *engine.Tx) (err error) {
		all, err = engine.All(tx, engine.ScanValue[string], "SELECT name FROM names ORDER BY id")
		return err
	}))
	return strings.Join(all, " ")
}

func wantUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*engine.Error](err); !ok || e.Class == engine.Internal {
		t.Errorf("%s: got %v, want unavailable", what, err)
	}
}
