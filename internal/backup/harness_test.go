package backup

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/leaktest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// backups is a store with a folder for its backups.
type backups struct {
	t        *testing.T
	database string
	dir      string
	log      *programtest.Transcript
}

func newBackups(t *testing.T) *backups {
	t.Helper()
	b := &backups{t, filepath.Join(t.TempDir(), "shop.db"), t.TempDir(), &programtest.Transcript{}}
	s := shoptest.Must(shoptest.OpenAt(t.Context(), b.database, shop.Options{}))(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	shoptest.OK(t, s.Store.Close())
	return b
}

// start starts a scheduler in a synctest bubble and waits until it has nothing to do. The bubble's clock starts at
// midnight on 1 January 2000.
func (b *backups) start(t *testing.T, interval time.Duration, keep int) (s *Scheduler, stop func()) {
	s = New(Config{
		Database: b.database, Folder: NewFolder(b.dir, b.database), Interval: interval, Keep: keep,
		Log: slog.New(slog.NewTextHandler(b.log, nil)),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	synctest.Wait()
	return s, func() { cancel(); <-ended }
}

// wait lets time pass in the bubble and waits until the scheduler has nothing to do.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// expect checks which files are in the folder.
func (b *backups) expect(want ...string) {
	b.t.Helper()
	var got []string
	for _, entry := range shoptest.Must(os.ReadDir(b.dir))(b.t) {
		got = append(got, entry.Name())
	}
	want = slices.Sorted(slices.Values(want)) // sort a copy, because the caller may use its slice again
	if !slices.Equal(got, want) {
		b.t.Errorf("the folder has the files %q, want %q; the log says:\n%s", got, want, b.log)
	}
}

// backupAt returns the name of the backup that was started at the given time. The time has the form 2006-01-02T15:04.
func backupAt(at string) string {
	return "shop-" + strings.NewReplacer("-", "", ":", "").Replace(at) + "00Z.db"
}

func (b *backups) write(name string) {
	b.t.Helper()
	shoptest.OK(b.t, os.WriteFile(filepath.Join(b.dir, name), []byte("x"), 0o600))
}

// metric returns the value of a metric.
func metric(t *testing.T, s *Scheduler, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Collectors()...)
	for _, family := range shoptest.Must(registry.Gather())(t) {
		if family.GetName() == "animalstore_backup_"+name {
			return family.Metric[0].GetGauge().GetValue() + family.Metric[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
