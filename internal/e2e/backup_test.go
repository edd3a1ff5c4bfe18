package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"animalstore/internal/programtest"
)

// TestBackupUnderLoadHasEveryAcknowledgedAnimal makes backups while clients create animals. The service must
// be able to run on a backup, which must contain every animal that was acknowledged before the backup
// started.
func TestBackupUnderLoadHasEveryAcknowledgedAnimal(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	l := newLoad(t)
	var acknowledged []map[int64]string // the animals that were acknowledged before each backup
	var backing sync.WaitGroup
	backing.Go(func() {
		for i := 0; !l.stopping.Load() && !t.Failed(); i++ {
			l.mu.Lock()
			acknowledged = append(acknowledged, maps.Clone(l.pets))
			l.mu.Unlock()
			// Other commands must also wait for the database lock and then succeed.
			for _, args := range [][]string{{"backup", fmt.Sprintf("backup-%d.db", i)}, {"keys", "create", "--name", "n"}} {
				if r := f.Run(args...); r.Code != 0 {
					t.Errorf("%q under load: got %v, want exit code 0", args, r)
				}
			}
		}
	})
	l.addUntil(p, "storm", 800, func() { p.Signal(syscall.SIGTERM) })
	backing.Wait()
	p.ExitCode()
	if t.Failed() {
		return
	}
	for i := range acknowledged {
		name := fmt.Sprintf("backup-%d.db", i)
		if info, err := os.Stat(f.Path(name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", name, info, err)
		}
		if i > 0 && i < len(acknowledged)-1 && i != len(acknowledged)/2 {
			continue // skip most backups because the backup command has already checked them all
		}
		checkIntegrity(t, f.Path(name))
		q := f.Serve("--database", name)
		l.pets = acknowledged[i]
		l.check(q)
		q.Stop()
		f.MustRun("check", "--database", name)
	}
	for _, name := range f.Names() {
		if strings.Contains(name, "partial") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// TestInterruptedBackupLeavesNoFiles interrupts backups with SIGINT while they are running.
func TestInterruptedBackupLeavesNoFiles(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	f.Serve("--demo").Stop()
	execSQL(f, "animalstore.db", `
		WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 50000)
		INSERT INTO events (at, type, subject, actor, data) SELECT 1, 'pet.updated', 'pets/0', 'system', '{}' FROM counted`)
	before := f.Names()
	for interrupted := 0; interrupted < 2; {
		p := f.Launch(exec.Command(programtest.Binary(t), "backup", "b.db"))
		programtest.Await(t, "the backup to start", func() bool {
			found, err := filepath.Glob(f.Path(".b.db.*.partial"))
			if err != nil {
				t.Fatal(err)
			}
			return len(found) > 0 && fileSize(found[0]) > 0 || fileSize(f.Path("b.db")) > 0
		})
		p.Signal(os.Interrupt)
		if p.ExitCode() == 0 { // the backup finished before the signal arrived
			os.Remove(f.Path("b.db"))
			continue
		}
		interrupted++
		if output := p.Output.String(); !strings.Contains(output, "interrupted: nothing was changed") {
			t.Fatalf("interrupted backup: got %q, want \"interrupted: nothing was changed\"", output)
		}
		for _, name := range f.Names() {
			if !slices.Contains(before, name) && !strings.HasPrefix(name, "animalstore.db-") {
				t.Errorf("%s was left behind", name)
			}
		}
	}
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
