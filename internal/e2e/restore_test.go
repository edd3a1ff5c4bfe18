package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/client"
)

// TestRestoreReturnsToBackup restores a backup. The restored store must not mislead clients that have seen
// IDs, keys, responses or events from after the backup.
func TestRestoreReturnsToBackup(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"over the store": false, "after the store was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolderWithKey(t)
			restoreAndCheck(t, f, lost)
		})
	}
}

func restoreAndCheck(t *testing.T, f *folder, lost bool) {
	p := f.serve("--webhook-allow-private")
	begin := time.Now().UnixMicro()
	partner := f.createKey("--name", "partner")
	f.createKey("--name", "other")
	hook := newReceiver(t)
	hook.subscribe(p)
	createOnce := func(p *program, key, name string) response {
		a := p.send("POST", "/v1/pets", adminKey, pet{Name: name, Status: "available"}.json(), "Idempotency-Key: "+key, "Content-Type: application/json")
		expectStatus(t, a, 201)
		return a
	}
	kept := createOnce(p, "kept", "kept")
	expectStatus(t, p.send("POST", "/v1/categories", adminKey, `{"name":"Dogs"}`), 201)
	expectStatus(t, p.send("POST", "/v1/store/orders", adminKey, `{"petId":1}`), 201)
	hook.awaitDeliveries(p)
	f.mustRun("backup", "backup.db")
	last := lastEvent(t, p)

	undone := createOnce(p, "undone", "undone")
	expectStatus(t, p.send("POST", "/v1/categories", adminKey, `{"name":"Cats"}`), 201)
	expectStatus(t, p.send("PATCH", "/v1/store/orders/1", adminKey, `{"status":"cancelled"}`, "Content-Type: application/merge-patch+json"), 200)
	expectStatus(t, p.send("POST", "/v1/store/orders", adminKey, `{"petId":2}`), 201)
	if r := f.run("keys", "revoke", "1"); r.code != 0 {
		t.Fatalf("keys revoke: got %+v, want exit code 0", r)
	}
	f.mustRun("keys", "rotate", "2")
	f.createKey("--name", "newest")
	hook.awaitDeliveries(p)
	newest := lastEvent(t, p)
	expectRefusal(t, f.run("restore", "--force", "backup.db"), 1, "already in use by another animalstore")
	p.stop()

	if lost {
		for _, name := range f.names() {
			if strings.HasPrefix(name, "animalstore.db") {
				if err := os.Remove(f.path(name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	} else {
		expectRefusal(t, f.run("restore", "backup.db"), 1, "already has a store", "--force")
	}
	r := f.mustRun("restore", "--force", "backup.db")
	messages := map[string]bool{
		"is kept in " + f.path("animalstore.db.before-"):                                                 !lost,
		"The ids assigned after the backup are unknown, so new ids continue after ":                      lost,
		"Key 1 (partner): it was revoked after the backup, and works again.\n":                           !lost,
		"Key 2 (other): it was rotated after the backup, and its secrets are again those from before.\n": !lost,
		"Restored animalstore.db from backup.db.\n":                                                      true,
	}
	for text, want := range messages {
		if strings.Contains(r.stderr, text) != want {
			t.Errorf("restore prints %q: %v, want %v:\n%s", text, !want, want, r.stderr)
		}
	}
	f.mustRun("check")

	p = f.serve("--webhook-allow-private")
	if got := p.walk(); len(got) != 1 || got[0].Status != "pending" {
		t.Errorf("got the animals %+v, want one that is pending", got)
	}
	// The partner's key was revoked after the backup was made, so it works again after the restore.
	expectStatus(t, p.send("GET", "/v1/pets", partner, ""), 200)
	if again := createOnce(p, "kept", "kept"); again.body != kept.body || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %v, want a replay of %v", again, kept)
	}
	// If a client repeats a request that the restore has undone, the service executes the request again. The
	// new objects must have IDs that no client has seen.
	repeated := createOnce(p, "undone", "undone")
	expectHeader(t, repeated, "Idempotency-Replayed", "")
	for what, seen := range map[string][2]int64{
		"animal":   {decode[pet](t, undone.body).ID, decode[pet](t, repeated.body).ID},
		"order":    {2, decode[pet](t, p.send("POST", "/v1/store/orders", adminKey, fmt.Sprintf(`{"petId":%d}`, decode[pet](t, repeated.body).ID)).body).ID},
		"category": {2, decode[pet](t, p.send("POST", "/v1/categories", adminKey, `{"name":"Birds"}`).body).ID},
		"event":    {newest, lastEvent(t, p)},
	} {
		if lost && seen[1] <= begin || seen[1] <= seen[0] || !lost && seen[1] > seen[0]+20 {
			t.Errorf("the last %s before the restore was %d, the next one is %d", what, seen[0], seen[1])
		}
	}

	// Clients that have seen no event after the backup simply continue. All other clients get a reset and
	// must read the current state first.
	var after []int64
	for _, event := range decode[[]struct {
		ID int64 `json:"id,string"`
	}](t, p.get(fmt.Sprintf("/v1/events?after=%d", last)).body) {
		after = append(after, event.ID)
	}
	if len(after) < 4 || after[0] <= newest+1 {
		t.Errorf("the events after %d are %v, want at least 4, beyond %d, the last before the restore", last, after, newest)
	}
	for position := last + 1; position <= newest; position++ {
		a := p.send("GET", fmt.Sprintf("/v1/events?after=%d", position), adminKey, "")
		expectError(t, a, 410, "events_expired")
		next := continueAfter.FindStringSubmatch(a.body)
		if next == nil {
			t.Fatalf("got %v, want the event after which to continue", a)
		}
		if got := decode[[]struct {
			ID int64 `json:"id,string"`
		}](t, p.get("/v1/events?after="+next[1]).body); len(got) != len(after) || got[0].ID != after[0] {
			t.Errorf("the events after %s are %v, want %v", next[1], got, after)
		}
	}
	for _, position := range []int64{last + 1, newest} {
		if got := firstStreamMessages(t, p, position); !strings.HasPrefix(got[0], "event: reset") || !strings.Contains(got[1], fmt.Sprintf("id: %d\n", after[0])) {
			t.Errorf("the stream after %d begins with %q, want a reset and event %d", position, got, after[0])
		}
	}
	if got := firstStreamMessages(t, p, last); !strings.Contains(got[0], fmt.Sprintf("id: %d\n", after[0])) {
		t.Errorf("the stream after %d begins with %q, want event %d", last, got, after[0])
	}
	followAfterRestore(t, p, newest, after)
	for _, id := range after { // the receiver checks that no two different messages have the same ID
		await(t, fmt.Sprint("the webhook message for event ", id), func() bool { return hook.has(fmt.Sprint("evt_", id)) > 0 })
	}
	hook.awaitDeliveries(p)
	p.stop()
	f.mustRun("check")
}

// followAfterRestore follows the feed with the Go client, starting from the last event before the restore. It
// expects one reset followed by the wanted events.
func followAfterRestore(t *testing.T, p *program, position int64, want []int64) {
	t.Helper()
	c, err := client.New(p.url+"/v1", adminKey)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	resets, got := 0, []string{}
	for event, err := range c.Follow(ctx, fmt.Sprint(position), client.EventFilter{}) {
		if _, reset := errors.AsType[*client.ResetError](err); reset {
			resets++
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if got = append(got, event.ID); len(got) == len(want) {
			break
		}
	}
	if resets != 1 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("a follower got %d resets and the events %v, want 1 reset and %v", resets, got, want)
	}
}

var continueAfter = regexp.MustCompile(`undone when the store was restored from a backup; read the current state, then continue after (\d+)\.`)

func lastEvent(t *testing.T, p *program) int64 {
	t.Helper()
	events := p.feed()
	return decode[struct {
		ID int64 `json:"id,string"`
	}](t, events[len(events)-1]).ID
}

// firstStreamMessages opens a stream that starts after position and returns its first two messages that
// contain data.
func firstStreamMessages(t *testing.T, p *program, position int64) (blocks [2]string) {
	t.Helper()
	request, err := http.NewRequest("GET", p.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Accept": {"text/event-stream"}, "Last-Event-Id": {fmt.Sprint(position)}}
	response, err := p.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reader, block := bufio.NewReader(response.Body), ""
	for n := 0; n < len(blocks); {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if block += line; line == "\n" {
			if strings.Contains(block, "data: ") {
				blocks[n] = block
				n++
			}
			block = ""
		}
	}
	return blocks
}

// TestRestoreKeepsDamagedStore restores a backup over an unreadable store. The command must keep the old
// store and its WAL unchanged.
func TestRestoreKeepsDamagedStore(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	p.create(pet{Name: "Rex"})
	f.mustRun("backup", "backup.db")
	p.create(pet{Name: "late"})
	p.kill() // a killed service leaves its WAL behind
	header := strings.Repeat("\xff", 200)
	broken := header + f.read("animalstore.db")[200:]
	f.write("animalstore.db", broken)
	log := f.read("animalstore.db-wal")
	if log == "" {
		t.Fatal("the WAL is empty")
	}
	if r := f.run("check"); r.code != 1 || !strings.Contains(r.stderr, "not a database") {
		t.Errorf("check of a damaged store: got %+v, want exit code 1 and \"not a database\"", r)
	}
	expectRefusal(t, f.run("restore", "backup.db"), 1, "--force")
	r := f.mustRun("restore", "--force", "backup.db")
	kept := keptStore.FindString(r.stderr)
	if kept == "" || f.read(kept) != broken || f.read(kept+"-wal") != log || !strings.Contains(r.stderr, "The ids assigned after the backup are unknown") {
		t.Errorf("the damaged store and its WAL are not kept unchanged in %q: %+v", kept, r)
	}
	f.mustRun("check")
	if got := f.serve().walk(); len(got) != 1 || got[0].Name != "Rex" {
		t.Errorf("got the animals %+v, want only Rex", got)
	}
}

var keptStore = regexp.MustCompile(`animalstore\.db\.before-[^/]*Z`)

// TestKilledRestoreLeavesOneWholeStore kills the restore command at many different points. Each time, either
// the old store or the new one must exist and be intact.
func TestKilledRestoreLeavesOneWholeStore(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve("--demo")
	before := len(p.walk())
	f.mustRun("backup", "backup.db")
	p.create(pet{Name: "late"})
	p.kill()
	original := f.readFiles("animalstore.db", "animalstore.db-wal")
	start := time.Now()
	f.mustRun("restore", "--force", "backup.db")
	duration := time.Since(start)
	// Each function reports whether it is time to kill the command: at a random time, when the new file
	// appears, when the old WAL has been checkpointed, or when the old store has been renamed.
	exists := func(pattern string) bool { found, _ := filepath.Glob(f.path(pattern)); return len(found) > 0 }
	killPoints := []func(deadline time.Time) bool{
		func(deadline time.Time) bool { return time.Now().After(deadline) },
		func(time.Time) bool { return exists("*.restoring") },
		func(time.Time) bool { return !exists("animalstore.db-wal") },
		func(time.Time) bool { return exists("*.before-*") },
	}
	outcomes := map[int]int{}
	const rounds = 24
	for round := range rounds {
		for _, name := range f.names() {
			if strings.HasPrefix(name, "animalstore.db") {
				os.Remove(f.path(name))
			}
		}
		for name, content := range original {
			f.write(name, content)
		}
		command := exec.Command(binary, "restore", "--force", "backup.db")
		command.Dir, command.Env = f.dir, f.environment()
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			command.Wait()
		}()
		for at := time.Now().Add(time.Duration(rand.Int64N(int64(duration) + 1))); !killPoints[round%len(killPoints)](at); {
			select {
			case <-ended: // the restore command finished before it was killed
				at, round = time.Time{}, 0
			default:
			}
		}
		command.Process.Kill()
		<-ended
		checkIntegrity(t, f.path("animalstore.db"))
		db := openDatabase(t, f.path("animalstore.db"))
		var pets int
		if err := db.QueryRow("SELECT count(*) FROM pets").Scan(&pets); err != nil {
			t.Fatal(err)
		}
		db.Close()
		outcomes[pets]++
	}
	if outcomes[before]+outcomes[before+1] != rounds {
		t.Errorf("the stores had these numbers of animals: %v, want only %d or %d", outcomes, before, before+1)
	}
	t.Logf("the old store was there %d times, the new one %d times", outcomes[before+1], outcomes[before])
	f.mustRun("check")
	f.mustRun("restore", "--force", "backup.db")
	f.mustRun("check")
	for _, name := range f.names() {
		if strings.Contains(name, "restoring") {
			t.Errorf("restore has left %s behind", name)
		}
	}
}

// readFiles returns a map from the given file names to the contents of these files in the folder.
func (f *folder) readFiles(names ...string) map[string]string {
	f.t.Helper()
	contents := map[string]string{}
	for _, name := range names {
		contents[name] = f.read(name)
	}
	return contents
}

// TestRestoreRefusesOpenStore runs the restore command while another program has the store open. The command
// must refuse to replace the file.
func TestRestoreRefusesOpenStore(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	f.createKey("--name", "n")
	f.mustRun("backup", "backup.db")
	db := openDatabase(t, f.path("animalstore.db"))
	defer db.Close()
	rows, err := db.Query("SELECT id FROM events")
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	before := append(f.names(), "animalstore.db.lock") // the lock file is never removed
	slices.Sort(before)
	expectRefusal(t, f.run("restore", "--force", "backup.db"), 1, "another program has it open")
	if after := f.names(); !slices.Equal(after, before) {
		t.Errorf("the folder has %q, want %q as before", after, before)
	}
	rows.Close()
	db.Close()
	f.mustRun("restore", "--force", "backup.db")
}
