package e2e

import (
	"strings"
	"sync"
	"testing"

	"animalstore/internal/programtest"
)

// TestConcurrentFirstStartsShareOneDatabase starts a service and many commands in the same empty folder at
// the same time.
func TestConcurrentFirstStartsShareOneDatabase(t *testing.T) {
	t.Parallel()
	const rounds, commands = 5, 8
	for range rounds {
		f := programtest.NewFolder(t)
		p := f.Start()
		var keys [commands]string
		var running sync.WaitGroup
		for i := range keys {
			running.Go(func() {
				r := f.Run("keys", "create", "--name", "n")
				if r.Code != 0 || !programtest.IssuedKey.MatchString(r.Stdout) {
					t.Errorf("keys create: got %v, want exit code 0 and a key", r)
				}
				keys[i] = strings.TrimSpace(r.Stdout)
			})
		}
		running.Wait()
		p.AwaitReady()
		if t.Failed() {
			return
		}
		seen := map[string]bool{}
		for _, key := range keys {
			programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", key, ""), 200)
			if seen[key] {
				t.Errorf("%s was issued twice", key)
			}
			seen[key] = true
		}
		p.Stop()
		checkIntegrity(t, f.Path("animalstore.db"))
	}
}
