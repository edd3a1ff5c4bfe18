package e2e

import (
	"fmt"
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
	var ledgers []*ledger
	s := &writeLoad{program: p, name: "storm", clients: 8, after: 3000, end: func() { p.Signal(syscall.SIGTERM) }}
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

func TestBackupRestoreAndCheckRefuseBadArguments(t *testing.T) {
	t.Parallel()
	const secret = "swordfish"
	for names, args := range map[string][]string{
		"<file>":                         {"backup"},
		"\"<file>\"":                     {"restore"},
		"pg_dump":                        {"backup", "--database", "postgres://u:" + secret + "@h/db", "b.db"},
		"pg_restore":                     {"restore", "--database", "postgres://u:" + secret + "@h/db", "b.db"},
		"--database: expected":           {"check", "--database", "mysql://h/" + secret},
		"--database: the file name":      {"backup", "--database", "", "b.db"},
		"unexpected argument c.db":       {"backup", "b.db", "c.db"},
		"unexpected argument b.db":       {"check", "b.db"},
		"into the environment variable ": {"check", "--database", "postgres://u:" + secret + "@h/db"},
	} {
		if r := programtest.ExpectUsageError(t, programtest.NewFolder(t), names, args...); strings.Contains(r.Stderr, secret) {
			t.Errorf("the password is in the error message %q", r.Stderr)
		}
	}
	f := programtest.NewFolder(t)
	for _, args := range [][]string{{"backup", "b.db"}, {"check"}} {
		programtest.ExpectRefusal(t, f.Run(args...), 1, "animalstore.db", "no such file")
	}
	programtest.ExpectRefusal(t, f.Run("restore", "missing.db"), 1, "missing.db", "no such file")
	f.Write("letter.txt", strings.Repeat("Dear aunt,\n", 500))
	programtest.ExpectRefusal(t, f.Run("restore", "letter.txt"), 1, "letter.txt", "not a database")
	execSQL(f, "songs.db", "CREATE TABLE songs (title TEXT)")
	programtest.ExpectRefusal(t, f.Run("restore", "songs.db"), 1, "songs.db", "another program")
	f.Write("empty.db", "")
	programtest.ExpectRefusal(t, f.Run("restore", "empty.db"), 1, "no store in it")
	names := slices.DeleteFunc(f.Names(), func(name string) bool { return name == "animalstore.db.lock" })
	if want := []string{"empty.db", "letter.txt", "songs.db"}; !slices.Equal(names, want) {
		t.Errorf("files: got %q, want %q", names, want)
	}

	f.CreateKey("--name", "n")
	f.MustRun("backup", "b.db")
	programtest.ExpectRefusal(t, f.Run("backup", "b.db"), 1, "b.db already exists", "--force")
	f.MustRun("backup", "--force", "b.db")
	programtest.ExpectRefusal(t, f.Run("backup", "--force", "animalstore.db"), 1, "the store itself")
	programtest.ExpectRefusal(t, f.Run("restore", "--force", f.Path("animalstore.db")), 1, "the store itself")
	programtest.ExpectRefusal(t, f.Run("backup", "."), 1, "is a directory")
	programtest.ExpectRefusal(t, f.Run("backup", "nowhere/b.db"), 1, "no such file or directory")
	other := f.Serve("--database", "other.db", "--api-key-file", f.Write("key", programtest.AdminKey))
	other.Create(programtest.Pet{Name: "Rex"})
	programtest.ExpectRefusal(t, f.Run("backup", "--force", "other.db"), 1, "a database in use")
	other.Stop()

	// An inconsistent backup is reported and can be restored only with --force. A damaged backup is never
	// restored.
	execSQL(f, "b.db", "UPDATE inventory SET n = 5")
	r := f.Run("restore", "--database", "new.db", "b.db")
	if r.Code != 1 || !strings.Contains(r.Stderr, "inventory sold: counted 5, found 0\n") || !strings.Contains(r.Stderr, "breaks rules") {
		t.Errorf("restore of an inconsistent backup: got %v, want exit code 1 and the finding", r)
	}
	f.MustRun("restore", "--database", "new.db", "--force", "b.db")
	if r := f.Run("backup", "--database", "new.db", "again.db"); r.Code != 1 || !strings.Contains(r.Stderr, "the backup is complete, but the store is inconsistent: 4 findings") {
		t.Errorf("backup of an inconsistent store: got %v, want exit code 1 and 4 findings", r)
	}
	content := []byte(f.Read("b.db"))
	for i := len(content) / 2; i < len(content); i++ {
		content[i] = byte(i)
	}
	f.Write("b.db", string(content))
	if r := f.Run("restore", "--force", "--database", "newer.db", "b.db"); r.Code != 1 || !strings.Contains(r.Stderr, "damaged") {
		t.Errorf("restore of a damaged backup: got %v, want exit code 1 and %q", r, "damaged")
	}
	if _, err := os.Stat(f.Path("newer.db")); err == nil {
		t.Error("a damaged backup was restored")
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
	for interrupted := 0; interrupted < 3; {
		command := exec.Command(programtest.Binary(t), "backup", "b.db")
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
