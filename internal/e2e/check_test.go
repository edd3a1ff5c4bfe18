package e2e

import (
	"strings"
	"sync"
	"syscall"
	"testing"

	"animalstore/internal/programtest"
)

// TestCheckWorksWhileServiceWrites runs the check command on both engines while clients write. Then it
// corrupts rows in the SQLite file and expects the command to report each of them.
func TestCheckWorksWhileServiceWrites(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, database string) {
		f := programtest.NewFolderWithKey(t)
		f.Variables = append(f.Variables, "ANIMALSTORE_DATABASE="+database)
		p := f.Serve("--demo")
		s := &writeLoad{program: p, name: "storm", clients: 4, after: 1000, end: func() { p.Signal(syscall.SIGTERM) }}
		var checking sync.WaitGroup
		checking.Go(func() {
			for s.ended.Load() == 0 {
				if r := f.Run("check"); r.Code != 0 || r.Stdout != "" || !strings.HasPrefix(r.Stderr, "No problems found in ") {
					t.Errorf("check under load: got %v, want exit code 0 and no findings", r)
					return
				}
			}
		})
		s.run()
		checking.Wait()
		p.ExitCode()
		if database == "animalstore.db" {
			execSQL(f, database, "UPDATE pets SET name_folded = 'X' || char(27) WHERE id = 7; UPDATE inventory SET n = -1 WHERE status = 'sold'")
			r := f.Run("check")
			lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
			if r.Code != 1 || len(lines) != 2 || !strings.HasPrefix(lines[0], "inventory sold: counted -1, found ") ||
				!strings.HasPrefix(lines[1], `pets 7: its search text is "X\x1b", but its name is `) || r.Stderr != "animalstore: animalstore.db has 2 findings\n" {
				t.Errorf("check of damaged rows: got %v, want exit code 1 and the 2 findings", r)
			}
		}
	})
}
