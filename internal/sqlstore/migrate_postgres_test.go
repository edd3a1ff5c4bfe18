package sqlstore

import (
	"strings"
	"testing"
	"time"

	"animalstore/internal/pgtest"
)

// What is no store is refused at once, and left as it is.
func TestPostgresThatIsNoStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before  string
		options Options
		wants   string
		tables  int
	}{
		"nothing in it":            {"SELECT 1", Options{Existing: true}, "no store in it", 0},
		"another program's orders": {"CREATE TABLE orders (n INTEGER)", Options{}, "another program", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := pgtest.Shared(t).NewDatabase(t)
			straight := openStraight(t, database)
			exec(t, straight, test.before)
			begin := time.Now()
			store, err := Open(t.Context(), database, test.options)
			if err == nil {
				store.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.wants) || time.Since(begin) > 10*time.Second {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			var tables int
			err = straight.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables)
			if err != nil || tables != test.tables {
				t.Errorf("there are %d tables, want %d, %v", tables, test.tables, err)
			}
		})
	}
}
