package e2e

import (
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestCheckWorksWhileServiceWrites runs the check command on both engines while clients write. Then it
// corrupts rows in the SQLite file and expects the command to report each of them.
func TestCheckWorksWhileServiceWrites(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, database string) {
		f := newFolderWithKey(t)
		f.variables = append(f.variables, "ANIMALSTORE_DATABASE="+database)
		p := f.serve("--demo")
		s := &writeLoad{program: p, name: "storm", clients: 4, after: 1000, end: func() { p.signal(syscall.SIGTERM) }}
		var checking sync.WaitGroup
		checking.Go(func() {
			for s.ended.Load() == 0 {
				if r := f.run("check"); r.code != 0 || r.stdout != "" || !strings.HasPrefix(r.stderr, "No problems found in ") {
					t.Errorf("check under load: got %v, want exit code 0 and no findings", r)
					return
				}
			}
		})
		s.run()
		checking.Wait()
		p.exitCode()
		if database == "animalstore.db" {
			f.execSQL(database, "UPDATE pets SET name_folded = 'X' || char(27) WHERE id = 7; UPDATE inventory SET n = -1 WHERE status = 'sold'")
			r := f.run("check")
			lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
			if r.code != 1 || len(lines) != 2 || !strings.HasPrefix(lines[0], "inventory sold: counted -1, found ") ||
				!strings.HasPrefix(lines[1], `pets 7: its search text is "X\x1b", but its name is `) || r.stderr != "animalstore: animalstore.db has 2 findings\n" {
				t.Errorf("check of damaged rows: got %v, want exit code 1 and the 2 findings", r)
			}
		}
	})
}
