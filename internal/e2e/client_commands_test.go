package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// startCommand starts a long-running command and captures its output.
func (f *folder) startCommand(args ...string) *program {
	f.t.Helper()
	command, output := exec.Command(binary, args...), &transcript{}
	command.Dir, command.Env = f.dir, f.environment()
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		f.t.Fatal(err)
	}
	return f.watch(command, output)
}

// TestEventsCommandSurvivesRestart stops the service once and kills it once while the events command follows
// the feed. The command must print each event exactly once.
func TestEventsCommandSurvivesRestart(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+p.url+"/v1")
	follower := f.startCommand("events", "--follow", "--after", "0", "--type", "pet.created", "-o", "json")
	awaitAnimal := func(name string) {
		t.Helper()
		follower.awaitOutput("the event of "+name, func(output string) bool { return strings.Contains(output, `"name":"`+name+`"`) })
	}
	p.create(pet{Name: "Rex"})
	awaitAnimal("Rex")
	p.stop()
	p = f.serve("--addr", strings.TrimPrefix(p.url, "http://"))
	p.create(pet{Name: "Mia"})
	awaitAnimal("Mia")
	p.kill()
	p = f.serve("--addr", strings.TrimPrefix(p.url, "http://"))
	p.create(pet{Name: "Leo"})
	awaitAnimal("Leo")
	follower.signal(syscall.SIGINT)
	if code := follower.exitCode(); code != 0 {
		t.Errorf("exit code after SIGINT: got %d, want 0", code)
	}
	if lines := strings.Split(strings.TrimSpace(follower.output.String()), "\n"); len(lines) != 3 {
		t.Errorf("got %d lines, want 3: %q", len(lines), lines)
	}
}

// TestEventsCommandExitsWhenKeyIsRevoked revokes the key while the events command is using it. The command
// must exit with the exit code for a rejected key.
func TestEventsCommandExitsWhenKeyIsRevoked(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	key := f.createKey("--name", "reader", "--scope", "events:read")
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+key, "ANIMALSTORE_URL="+p.url+"/v1")
	follower := f.startCommand("events", "--follow", "--after", "0")
	follower.awaitOutput("the event of the new key", func(output string) bool { return strings.Contains(output, "key.created") })
	if r := f.run("keys", "create", "--name", "other"); r.code != 0 {
		t.Fatalf("keys create: got %v, want exit code 0", r)
	}
	if r := f.run("keys", "revoke", "1"); r.code != 0 {
		t.Fatalf("keys revoke: got %v, want exit code 0", r)
	}
	if code := follower.exitCode(); code != 4 {
		t.Errorf("exit code: got %d, want 4", code)
	}
	if !strings.Contains(follower.output.String(), "The API key is unknown or has expired") {
		t.Errorf("the output does not give the reason: %s", follower.output)
	}
}

// TestEventsCommandReportsRestoreAndContinues restores a backup while the events command follows the feed.
// The command must report that events were undone and then continue. Without --follow, the command must still
// list the latest events.
func TestEventsCommandReportsRestoreAndContinues(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+p.url+"/v1")
	p.create(pet{Name: "Rex"})
	if r := f.run("backup", "backup.db"); r.code != 0 {
		t.Fatalf("backup: got %v, want exit code 0", r)
	}
	p.create(pet{Name: "Mia"})
	follower := f.startCommand("events", "--follow", "--after", "0")
	follower.awaitOutput("the event that the restore will undo", func(output string) bool { return strings.Contains(output, "name Mia") })
	// undone is the event ID in the first row below the header.
	undone := strings.Fields(f.run("events", "--limit", "1").stdout)[6]
	p.stop()
	if r := f.run("restore", "--force", "backup.db"); r.code != 0 {
		t.Fatalf("restore: got %v, want exit code 0", r)
	}
	p = f.serve("--addr", strings.TrimPrefix(p.url, "http://"))
	p.create(pet{Name: "Leo"})
	follower.awaitOutput("the event after the restore", func(output string) bool { return strings.Contains(output, "name Leo") })
	if !strings.Contains(follower.output.String(), "animalstore: Events up to this one were undone when the store was restored from a backup") {
		t.Errorf("the output does not report the restore: %s", follower.output)
	}
	follower.signal(syscall.SIGINT)
	if code := follower.exitCode(); code != 0 {
		t.Errorf("exit code after SIGINT: got %d, want 0", code)
	}
	for _, limit := range []string{"1", "2", "20", "9223372036854775807"} {
		if r := f.run("events", "--limit", limit, "--type", "pet.created"); r.code != 0 || !strings.Contains(r.stdout, "name Leo") || strings.Contains(r.stdout, "Mia") {
			t.Errorf("events --limit %s: got %v, want the event of Leo and none of Mia", limit, r)
		}
	}
	expectRefusal(t, f.run("events", "--after", undone), 5, "were undone", "continue after ")
}

// TestPetsSetKeepsConcurrentChange changes an animal after the pets set command has read it and before the
// command writes it. The command must then fail.
func TestPetsSetKeepsConcurrentChange(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	rex, _ := p.create(pet{Name: "Rex"})
	service, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(service)
	interceptor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			if a := p.send("PATCH", r.URL.Path, adminKey, `{"name":"Rexina"}`); a.status != http.StatusOK {
				t.Errorf("the concurrent change: got %v, want status 200", a)
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	defer interceptor.Close()
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+interceptor.URL+"/v1")
	expectRefusal(t, f.run("pets", "set", "1", "--name", "Max"), 5, "animal 1 was changed in the meantime")
	rex.Name = "Rexina"
	if pets := p.walk(); len(pets) != 1 || pets[0] != rex {
		t.Errorf("animals: got %+v, want only %+v", pets, rex)
	}
	if r := f.run("pets", "set", "1", "--name", "Max", "--if-match", "*"); r.code != 0 || p.walk()[0].Name != "Max" {
		t.Errorf("pets set --if-match '*': got %v, want exit code 0 and the new name", r)
	}
}

// TestEmptyIfMatchAndIdempotencyKeyAreRefused checks that commands reject empty values for these flags. An
// empty value most likely comes from an unset variable in a script, so running the command without the
// condition would be wrong.
func TestEmptyIfMatchAndIdempotencyKeyAreRefused(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	rex, _ := p.create(pet{Name: "Rex"})
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+p.url+"/v1")
	expectRefusal(t, f.run("pets", "remove", "1", "--if-match", ""), 2, "--if-match must be an ETag")
	expectRefusal(t, f.run("pets", "set", "1", "--name", "Max", "--if-match", ""), 2, "--if-match must be an ETag")
	for _, command := range [][]string{
		{"pets", "add", "--name", "Max", "--category", "1"}, {"categories", "add", "--name", "Dogs"}, {"orders", "place", "--pet", "1"},
	} {
		expectRefusal(t, f.run(append(command, "--idempotency-key", "")...), 2, "--idempotency-key must have 1 to 255")
	}
	if pets := p.walk(); len(pets) != 1 || pets[0] != rex {
		t.Errorf("animals: got %+v, want only %+v", pets, rex)
	}
}

// TestEventsCommandOnTerminalStopsOnCtrlC checks that the events command stops on Ctrl-C and that its output
// on a terminal mentions Ctrl-C.
func TestEventsCommandOnTerminalStopsOnCtrlC(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	p.create(pet{Name: "Rex"})
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+p.url+"/v1")
	command, output := exec.Command(binary, "events", "--follow", "--all"), &transcript{}
	command.Dir, command.Env = f.dir, f.environment()
	terminal, err := pty.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	go io.Copy(output, terminal)
	follower := f.watch(command, output)
	follower.awaitOutput("the event of Rex", func(output string) bool { return strings.Contains(output, "name Rex, categoryId 0") })
	if !strings.Contains(output.String(), "Waiting for events; press Ctrl-C to stop.") {
		t.Errorf("no hint about Ctrl-C in the output %q", output)
	}
	if _, err := terminal.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if code := follower.exitCode(); code != 0 {
		t.Errorf("exit code after Ctrl-C: got %d, want 0; output: %s", code, output)
	}
}

// TestCommandsRejectResponsesFromOtherServers runs commands against a server that is not animalstore. The
// commands must reject the server's responses and escape the text before they print it on the terminal.
func TestCommandsRejectResponsesFromOtherServers(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/pets":
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "<h1>Nothing here</h1>")
		case "/v1/store/inventory":
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"code":"gone_mad","message":"\u001b[2J\u009b2J Beware.","status":409}`)
		default:
			panic(http.ErrAbortHandler) // close the connection without sending a response
		}
	}))
	defer other.Close()
	f := newFolder(t, "ANIMALSTORE_KEY=x", "ANIMALSTORE_URL="+other.URL+"/v1")
	expectRefusal(t, f.run("pets", "list"), 6, "does not come from the service. Is --url or ANIMALSTORE_URL the URL")
	expectRefusal(t, f.run("inventory"), 5, `\u001b[2J\u009b2J Beware.`)
	expectRefusal(t, f.run("orders", "list"), 6, "cannot reach the service at "+other.URL+": EOF")
	expectRefusal(t, f.run("orders", "place", "--pet", "1"), 6, "the change may have been made anyway: check before you retry")
}
