package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// TestBackupUnderLoadHasEveryAcknowledgedAnimal makes backups while clients create animals and photos. The service must be
// able to run on each backup. A backup must contain every animal and photo that was acknowledged before the backup started.
func TestBackupUnderLoadHasEveryAcknowledgedAnimal(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	l := newLoad(t)
	// What was acknowledged before each backup.
	type records struct {
		pets   map[int64]string
		photos map[int64]photograph
	}
	var acknowledged []records
	var backing sync.WaitGroup
	backing.Go(func() {
		for i := 0; !l.stopping.Load() && !t.Failed(); i++ {
			l.mu.Lock()
			acknowledged = append(acknowledged, records{maps.Clone(l.pets), maps.Clone(l.photos)})
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
	sent := l.photos
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
		l.pets, l.photos = acknowledged[i].pets, map[int64]photograph{}
		for pet := range sent {
			l.photos[pet] = acknowledged[i].photos[pet] // a photo that was only sent may be there, too
		}
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

// TestInterruptedBackupLeavesNoFiles interrupts backups with SIGINT while they are running. No file may be left
// behind.
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
			must(t, err)
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

// TestStoppingServiceLeavesNoIncompleteBackup stops services while they are making a scheduled backup. No incomplete
// file may be left behind.
func TestStoppingServiceLeavesNoIncompleteBackup(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	f.Serve("--demo").Stop()
	execSQL(f, "animalstore.db", `
		WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 50000)
		INSERT INTO events (at, type, subject, actor, data) SELECT 1, 'pet.updated', 'pets/0', 'system', '{}' FROM counted`)
	for interrupted := false; !interrupted; {
		must(t, os.RemoveAll(f.Path("backups")))
		must(t, os.Mkdir(f.Path("backups"), 0o700))
		p := f.Serve("--backup-dir", "backups")
		programtest.Await(t, "the backup to start", func() bool {
			found, err := filepath.Glob(f.Path("backups/.animalstore-*"))
			must(t, err)
			return len(found) > 0 || strings.Contains(p.Output.String(), "backup written")
		})
		p.Stop()
		entries, err := os.ReadDir(f.Path("backups"))
		must(t, err)
		for _, entry := range entries {
			if strings.Contains(entry.Name(), "partial") {
				t.Errorf("%s was left behind", entry.Name())
			}
		}
		// If the backup finished before the service stopped, try again.
		interrupted = !strings.Contains(p.Output.String(), "backup written")
	}
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// TestRestoreKeepsDamagedStore restores a backup over an unreadable store. The command must keep the old
// store and its WAL unchanged.
func TestRestoreKeepsDamagedStore(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	p.Create(programtest.Pet{Name: "Rex"})
	f.MustRun("backup", "backup.db")
	p.Create(programtest.Pet{Name: "late"})
	p.Kill() // a killed service leaves its WAL behind
	broken := strings.Repeat("\xff", 200) + f.Read("animalstore.db")[200:]
	f.Write("animalstore.db", broken)
	log := f.Read("animalstore.db-wal")
	if log == "" {
		t.Fatal("the WAL is empty")
	}
	if r := f.Run("check"); r.Code != 1 || !strings.Contains(r.Stderr, "not a database") {
		t.Errorf("check of a damaged store: got %+v, want exit code 1 and \"not a database\"", r)
	}
	programtest.ExpectRefusal(t, f.Run("restore", "backup.db"), 1, "--force")
	r := f.MustRun("restore", "--force", "backup.db")
	kept := keptStore.FindString(r.Stderr)
	if !strings.Contains(r.Stderr, "The ids assigned after the backup are unknown") {
		t.Errorf("restore does not warn about unknown ids: %+v", r)
	}
	if kept == "" || f.Read(kept) != broken || f.Read(kept+"-wal") != log {
		t.Errorf("the damaged store and its WAL are not kept unchanged in %q: %+v", kept, r)
	}
	f.MustRun("check")
	if got := f.Serve().Walk(); len(got) != 1 || got[0].Name != "Rex" {
		t.Errorf("got the animals %+v, want only Rex", got)
	}
}

var keptStore = regexp.MustCompile(`animalstore\.db\.before-[^/]*Z`)

// TestKilledRestoreLeavesOneWholeStore kills the restore command at many different points. Each time, either
// the old store or the new one must exist and be intact.
func TestKilledRestoreLeavesOneWholeStore(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--demo")
	before := len(p.Walk())
	f.MustRun("backup", "backup.db")
	p.Create(programtest.Pet{Name: "late"})
	p.Kill()
	store, wal := f.Read("animalstore.db"), f.Read("animalstore.db-wal")
	start := time.Now()
	f.MustRun("restore", "--force", "backup.db")
	duration := time.Since(start)
	// The functions in killPoints report whether it is time to kill the command: at a random time, when the new file
	// appears, when the old WAL has been checkpointed, or when the old store has been renamed.
	exists := func(pattern string) bool { found, _ := filepath.Glob(f.Path(pattern)); return len(found) > 0 }
	killPoints := []func(deadline time.Time) bool{
		func(deadline time.Time) bool { return time.Now().After(deadline) },
		func(time.Time) bool { return exists("*.restoring") },
		func(time.Time) bool { return !exists("animalstore.db-wal") },
		func(time.Time) bool { return exists("*.before-*") },
	}
	outcomes := map[int]int{}
	const rounds = 8
	for round := range rounds {
		for _, name := range f.Names() {
			if strings.HasPrefix(name, "animalstore.db") {
				os.Remove(f.Path(name))
			}
		}
		f.Write("animalstore.db", store)
		f.Write("animalstore.db-wal", wal)
		restore := f.Launch(exec.Command(programtest.Binary(t), "restore", "--force", "backup.db"))
		for at := time.Now().Add(time.Duration(rand.Int64N(int64(duration) + 1))); !killPoints[round%len(killPoints)](at); {
			select {
			case <-restore.Exited: // the restore command finished before it was killed
				at, round = time.Time{}, 0
			default:
			}
		}
		restore.Kill()
		checkIntegrity(t, f.Path("animalstore.db"))
		db := openDatabase(t, f.Path("animalstore.db"))
		var pets int
		err := db.QueryRow("SELECT count(*) FROM pets").Scan(&pets)
		if db.Close(); err != nil {
			t.Fatal(err)
		}
		outcomes[pets]++
	}
	if outcomes[before]+outcomes[before+1] != rounds {
		t.Errorf("the stores had these numbers of animals: %v, want only %d or %d", outcomes, before, before+1)
	}
	f.MustRun("check")
	f.MustRun("restore", "--force", "backup.db")
	f.MustRun("check")
	for _, name := range f.Names() {
		if strings.Contains(name, "restoring") {
			t.Errorf("restore has left %s behind", name)
		}
	}
}

// TestRestoreRefusesOpenStore runs the restore command while another program has the store open. The command
// must refuse to replace the file.
func TestRestoreRefusesOpenStore(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	f.CreateKey("--name", "n")
	f.MustRun("backup", "backup.db")
	db := openDatabase(t, f.Path("animalstore.db"))
	defer db.Close()
	rows, err := db.Query("SELECT id FROM events")
	must(t, err)
	rows.Next()
	before := append(f.Names(), "animalstore.db.lock") // the command creates a lock file and leaves it behind
	slices.Sort(before)
	programtest.ExpectRefusal(t, f.Run("restore", "--force", "backup.db"), 1, "another program has it open")
	if after := f.Names(); !slices.Equal(after, before) {
		t.Errorf("the folder has %q, want %q as before", after, before)
	}
	rows.Close()
	db.Close()
	f.MustRun("restore", "--force", "backup.db")
}
