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
	"animalstore/internal/programtest"
)

// TestRestoreReturnsToBackup restores a backup. The restored store must not mislead clients that have seen
// IDs, keys, responses or events from after the backup.
func TestRestoreReturnsToBackup(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"over the store": false, "after the store was lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := programtest.NewFolderWithKey(t)
			restoreAndCheck(t, f, lost)
		})
	}
}

func restoreAndCheck(t *testing.T, f *programtest.Folder, lost bool) {
	p := f.Serve("--webhook-allow-private")
	begin := time.Now().UnixMicro()
	partner := f.CreateKey("--name", "partner")
	f.CreateKey("--name", "other")
	hook := newReceiver(t)
	hook.subscribe(p)
	createOnce := func(p *programtest.Program, key, name string) programtest.Response {
		a := p.Send("POST", "/v1/pets", programtest.AdminKey, programtest.Pet{Name: name, Status: "available"}.JSON(), "Idempotency-Key: "+key, "Content-Type: application/json")
		programtest.ExpectStatus(t, a, 201)
		return a
	}
	kept := createOnce(p, "kept", "kept")
	programtest.ExpectStatus(t, p.Send("POST", "/v1/categories", programtest.AdminKey, `{"name":"Dogs"}`), 201)
	programtest.ExpectStatus(t, p.Send("POST", "/v1/store/orders", programtest.AdminKey, `{"petId":1}`), 201)
	hook.awaitDeliveries(p)
	f.MustRun("backup", "backup.db")
	last := lastEvent(t, p)

	undone := createOnce(p, "undone", "undone")
	programtest.ExpectStatus(t, p.Send("POST", "/v1/categories", programtest.AdminKey, `{"name":"Cats"}`), 201)
	programtest.ExpectStatus(t, p.Send("PATCH", "/v1/store/orders/1", programtest.AdminKey, `{"status":"cancelled"}`, "Content-Type: application/merge-patch+json"), 200)
	programtest.ExpectStatus(t, p.Send("POST", "/v1/store/orders", programtest.AdminKey, `{"petId":2}`), 201)
	if r := f.Run("keys", "revoke", "1"); r.Code != 0 {
		t.Fatalf("keys revoke: got %+v, want exit code 0", r)
	}
	f.MustRun("keys", "rotate", "2")
	f.CreateKey("--name", "newest")
	hook.awaitDeliveries(p)
	newest := lastEvent(t, p)
	programtest.ExpectRefusal(t, f.Run("restore", "--force", "backup.db"), 1, "already in use by another animalstore")
	p.Stop()

	if lost {
		for _, name := range f.Names() {
			if strings.HasPrefix(name, "animalstore.db") {
				if err := os.Remove(f.Path(name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	} else {
		programtest.ExpectRefusal(t, f.Run("restore", "backup.db"), 1, "already has a store", "--force")
	}
	r := f.MustRun("restore", "--force", "backup.db")
	messages := map[string]bool{
		"is kept in " + f.Path("animalstore.db.before-"):                                                 !lost,
		"The ids assigned after the backup are unknown, so new ids continue after ":                      lost,
		"Key 1 (partner): it was revoked after the backup, and works again.\n":                           !lost,
		"Key 2 (other): it was rotated after the backup, and its secrets are again those from before.\n": !lost,
		"Restored animalstore.db from backup.db.\n":                                                      true,
	}
	for text, want := range messages {
		if strings.Contains(r.Stderr, text) != want {
			t.Errorf("restore prints %q: %v, want %v:\n%s", text, !want, want, r.Stderr)
		}
	}
	f.MustRun("check")

	p = f.Serve("--webhook-allow-private")
	if got := p.Walk(); len(got) != 1 || got[0].Status != "pending" {
		t.Errorf("got the animals %+v, want one that is pending", got)
	}
	// The partner's key was revoked after the backup was made, so it works again after the restore.
	programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", partner, ""), 200)
	if again := createOnce(p, "kept", "kept"); again.Body != kept.Body || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %v, want a replay of %v", again, kept)
	}
	// If a client repeats a request that the restore has undone, the service executes the request again. The
	// new objects must have IDs that no client has seen.
	repeated := createOnce(p, "undone", "undone")
	programtest.ExpectHeader(t, repeated, "Idempotency-Replayed", "")
	for what, seen := range map[string][2]int64{
		"animal":   {programtest.Decode[programtest.Pet](t, undone.Body).ID, programtest.Decode[programtest.Pet](t, repeated.Body).ID},
		"order":    {2, programtest.Decode[programtest.Pet](t, p.Send("POST", "/v1/store/orders", programtest.AdminKey, fmt.Sprintf(`{"petId":%d}`, programtest.Decode[programtest.Pet](t, repeated.Body).ID)).Body).ID},
		"category": {2, programtest.Decode[programtest.Pet](t, p.Send("POST", "/v1/categories", programtest.AdminKey, `{"name":"Birds"}`).Body).ID},
		"event":    {newest, lastEvent(t, p)},
	} {
		if lost && seen[1] <= begin || seen[1] <= seen[0] || !lost && seen[1] > seen[0]+20 {
			t.Errorf("the last %s before the restore was %d, the next one is %d", what, seen[0], seen[1])
		}
	}

	// Clients that have seen no event after the backup simply continue. All other clients get a reset and
	// must read the current state first.
	var after []int64
	for _, event := range programtest.Decode[[]struct {
		ID int64 `json:"id,string"`
	}](t, p.Get(fmt.Sprintf("/v1/events?after=%d", last)).Body) {
		after = append(after, event.ID)
	}
	if len(after) < 4 || after[0] <= newest+1 {
		t.Errorf("the events after %d are %v, want at least 4, beyond %d, the last before the restore", last, after, newest)
	}
	for position := last + 1; position <= newest; position++ {
		a := p.Send("GET", fmt.Sprintf("/v1/events?after=%d", position), programtest.AdminKey, "")
		programtest.ExpectError(t, a, 410, "events_expired")
		next := continueAfter.FindStringSubmatch(a.Body)
		if next == nil {
			t.Fatalf("got %v, want the event after which to continue", a)
		}
		if got := programtest.Decode[[]struct {
			ID int64 `json:"id,string"`
		}](t, p.Get("/v1/events?after="+next[1]).Body); len(got) != len(after) || got[0].ID != after[0] {
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
		programtest.Await(t, fmt.Sprint("the webhook message for event ", id), func() bool { return hook.has(fmt.Sprint("evt_", id)) > 0 })
	}
	hook.awaitDeliveries(p)
	p.Stop()
	f.MustRun("check")
}

// followAfterRestore follows the feed with the Go client, starting from the last event before the restore. It
// expects one reset followed by the wanted events.
func followAfterRestore(t *testing.T, p *programtest.Program, position int64, want []int64) {
	t.Helper()
	c, err := client.New(p.URL+"/v1", programtest.AdminKey)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), programtest.WaitTimeout)
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

func lastEvent(t *testing.T, p *programtest.Program) int64 {
	t.Helper()
	events := p.Feed()
	return programtest.Decode[struct {
		ID int64 `json:"id,string"`
	}](t, events[len(events)-1]).ID
}

// firstStreamMessages opens a stream that starts after position and returns its first two messages that
// contain data.
func firstStreamMessages(t *testing.T, p *programtest.Program, position int64) (blocks [2]string) {
	t.Helper()
	request, err := http.NewRequest("GET", p.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + programtest.AdminKey}, "Accept": {"text/event-stream"}, "Last-Event-Id": {fmt.Sprint(position)}}
	response, err := p.Client.Do(request)
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
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	p.Create(programtest.Pet{Name: "Rex"})
	f.MustRun("backup", "backup.db")
	p.Create(programtest.Pet{Name: "late"})
	p.Kill() // a killed service leaves its WAL behind
	header := strings.Repeat("\xff", 200)
	broken := header + f.Read("animalstore.db")[200:]
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
	if kept == "" || f.Read(kept) != broken || f.Read(kept+"-wal") != log || !strings.Contains(r.Stderr, "The ids assigned after the backup are unknown") {
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
	original := readFiles(f, "animalstore.db", "animalstore.db-wal")
	start := time.Now()
	f.MustRun("restore", "--force", "backup.db")
	duration := time.Since(start)
	// Each function reports whether it is time to kill the command: at a random time, when the new file
	// appears, when the old WAL has been checkpointed, or when the old store has been renamed.
	exists := func(pattern string) bool { found, _ := filepath.Glob(f.Path(pattern)); return len(found) > 0 }
	killPoints := []func(deadline time.Time) bool{
		func(deadline time.Time) bool { return time.Now().After(deadline) },
		func(time.Time) bool { return exists("*.restoring") },
		func(time.Time) bool { return !exists("animalstore.db-wal") },
		func(time.Time) bool { return exists("*.before-*") },
	}
	outcomes := map[int]int{}
	const rounds = 24
	for round := range rounds {
		for _, name := range f.Names() {
			if strings.HasPrefix(name, "animalstore.db") {
				os.Remove(f.Path(name))
			}
		}
		for name, content := range original {
			f.Write(name, content)
		}
		command := exec.Command(programtest.Binary(t), "restore", "--force", "backup.db")
		command.Dir, command.Env = f.Dir, f.Environment()
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
		checkIntegrity(t, f.Path("animalstore.db"))
		db := openDatabase(t, f.Path("animalstore.db"))
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
	f.MustRun("check")
	f.MustRun("restore", "--force", "backup.db")
	f.MustRun("check")
	for _, name := range f.Names() {
		if strings.Contains(name, "restoring") {
			t.Errorf("restore has left %s behind", name)
		}
	}
}

// readFiles returns a map from the given file names to the contents of these files in the folder.
func readFiles(f *programtest.Folder, names ...string) map[string]string {
	f.T.Helper()
	contents := map[string]string{}
	for _, name := range names {
		contents[name] = f.Read(name)
	}
	return contents
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
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	before := append(f.Names(), "animalstore.db.lock") // the lock file is never removed
	slices.Sort(before)
	programtest.ExpectRefusal(t, f.Run("restore", "--force", "backup.db"), 1, "another program has it open")
	if after := f.Names(); !slices.Equal(after, before) {
		t.Errorf("the folder has %q, want %q as before", after, before)
	}
	rows.Close()
	db.Close()
	f.MustRun("restore", "--force", "backup.db")
}
