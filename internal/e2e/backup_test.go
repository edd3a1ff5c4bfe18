package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	var ledgers []*ledger
	s := &writeLoad{program: p, name: "storm", clients: 8, after: 800, end: func() { p.Signal(syscall.SIGTERM) }}
	var backing sync.WaitGroup
	backing.Go(func() {
		for i := 0; s.ended.Load() == 0; i++ {
			before := newLedger()
			s.mu.Lock()
			for _, animal := range s.acknowledged {
				before.acknowledged[animal.ID] = animal
			}
			s.mu.Unlock()
			r := f.Run("backup", fmt.Sprintf("backup-%d.db", i))
			if r.Code != 0 {
				t.Errorf("backup: got %v, want exit code 0", r)
				return
			}
			ledgers = append(ledgers, before)
			// Other commands must also wait for the database lock and then succeed.
			if r := f.Run("keys", "create", "--name", "n"); r.Code != 0 {
				t.Errorf("keys create under load: got %v, want exit code 0", r)
			}
		}
	})
	s.run()
	backing.Wait()
	p.ExitCode()
	for _, problem := range s.problems {
		t.Error(problem)
	}
	if t.Failed() {
		return
	}
	for i, records := range ledgers {
		name := fmt.Sprintf("backup-%d.db", i)
		if info, err := os.Stat(f.Path(name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", name, info, err)
		}
		if i > 0 && i < len(ledgers)-1 && i != len(ledgers)/2 {
			continue // skip most backups because the backup command has already checked them all
		}
		checkIntegrity(t, f.Path(name))
		q := f.Serve("--database", name)
		records.sent = s.sent
		records.check(t, q.Walk())
		q.Stop()
		f.MustRun("check", "--database", name)
		t.Logf("%s: %d animals acknowledged before it started, %d contained", name, len(records.acknowledged), records.present)
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
	guard, cancel := context.WithTimeout(t.Context(), programtest.WaitTimeout)
	defer cancel()
	for interrupted := 0; interrupted < 2; {
		command := exec.CommandContext(guard, programtest.Binary(t), "backup", "b.db")
		command.Dir, command.Env = f.Dir, f.Environment()
		var output programtest.Transcript
		command.Stderr = &output
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		programtest.Await(t, "the backup to start", func() bool {
			found, err := filepath.Glob(f.Path(".b.db.*.partial"))
			if err != nil {
				t.Fatal(err)
			}
			return len(found) > 0 && fileSize(found[0]) > 0 || fileSize(f.Path("b.db")) > 0
		})
		command.Process.Signal(os.Interrupt)
		err := command.Wait()
		if err == nil { // the backup finished before the signal arrived
			os.Remove(f.Path("b.db"))
			continue
		}
		interrupted++
		if !strings.Contains(output.String(), "interrupted: nothing was changed") {
			t.Fatalf("interrupted backup: got %v, stderr %q, want \"interrupted: nothing was changed\"", err, output.String())
		}
		for _, name := range f.Names() {
			if strings.Contains(name, "b.db") && name != "animalstore.db" && !strings.HasPrefix(name, "animalstore.db-") && name != "animalstore.db.lock" {
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
