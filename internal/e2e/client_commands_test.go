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

// startCommand starts a command that does not end by itself. All that it writes is in its output.
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

// Who follows events is told of what happens before and after a restart of the service, and of nothing twice.
func TestEventsCommandSurvivesRestart(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+p.url+"/v1")
	follower := f.startCommand("events", "--follow", "--after", "0", "--type", "pet.created", "-o", "json")
	awaitAnimal := func(name string) {
		t.Helper()
		follower.awaitOutput("the animal "+name, func(output string) bool { return strings.Contains(output, `"name":"`+name+`"`) })
	}
	p.create(pet{Name: "Rex"})
	awaitAnimal("Rex")
	p.stop()
	p = f.serve("--addr", strings.TrimPrefix(p.url, "http://"))
	p.create(pet{Name: "Mia"})
	awaitAnimal("Mia")
	p.kill() // without a farewell
	p = f.serve("--addr", strings.TrimPrefix(p.url, "http://"))
	p.create(pet{Name: "Leo"})
	awaitAnimal("Leo")
	follower.signal(syscall.SIGINT)
	if code := follower.exitCode(); code != 0 {
		t.Errorf("interrupted, it exits with %d", code)
	}
	if lines := strings.Split(strings.TrimSpace(follower.output.String()), "\n"); len(lines) != 3 {
		t.Errorf("it wrote more than three animals: %q", lines)
	}
}

// A key that is revoked ends it, with the code for that.
func TestEventsCommandExitsWhenKeyIsRevoked(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	key := f.createKey("--name", "reader", "--scope", "events:read")
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+key, "ANIMALSTORE_URL="+p.url+"/v1")
	follower := f.startCommand("events", "--follow", "--after", "0")
	follower.awaitOutput("the event of its key", func(output string) bool { return strings.Contains(output, "key.created") })
	if r := f.run("keys", "create", "--name", "other"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if r := f.run("keys", "revoke", "1"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if code := follower.exitCode(); code != 4 {
		t.Errorf("it exits with %d", code)
	}
	if !strings.Contains(follower.output.String(), "The API key is unknown or has expired") {
		t.Errorf("it does not say why it ends: %s", follower.output)
	}
}

// After a restore, who follows events is told that some were undone, and goes on; who lists them gets the latest all the same.
func TestEventsCommandReportsRestoreAndContinues(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve()
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+p.url+"/v1")
	p.create(pet{Name: "Rex"})
	if r := f.run("backup", "backup.db"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	p.create(pet{Name: "Mia"})
	follower := f.startCommand("events", "--follow", "--after", "0")
	follower.awaitOutput("what will be undone", func(output string) bool { return strings.Contains(output, "name Mia") })
	undone := strings.Fields(f.run("events", "--limit", "1").stdout)[6] // the first word below the header
	p.stop()
	if r := f.run("restore", "--force", "backup.db"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	p = f.serve("--addr", strings.TrimPrefix(p.url, "http://"))
	p.create(pet{Name: "Leo"})
	follower.awaitOutput("what came after", func(output string) bool { return strings.Contains(output, "name Leo") })
	if !strings.Contains(follower.output.String(), "animalstore: Events up to this one were undone when the store was restored from a backup") {
		t.Errorf("it does not tell of the restore: %s", follower.output)
	}
	follower.signal(syscall.SIGINT)
	if code := follower.exitCode(); code != 0 {
		t.Errorf("interrupted, it exits with %d", code)
	}
	for _, limit := range []string{"1", "2", "20", "9223372036854775807"} {
		if r := f.run("events", "--limit", limit, "--type", "pet.created"); r.code != 0 || !strings.Contains(r.stdout, "name Leo") || strings.Contains(r.stdout, "Mia") {
			t.Errorf("%+v", r)
		}
	}
	expectRefusal(t, f.run("events", "--after", undone), 5, "were undone", "continue after ")
}

// An animal that somebody changes between the look and the change of pets set is left alone.
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
				t.Errorf("%+v", a)
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	defer interceptor.Close()
	f.variables = append(f.variables, "ANIMALSTORE_KEY="+adminKey, "ANIMALSTORE_URL="+interceptor.URL+"/v1")
	expectRefusal(t, f.run("pets", "set", "1", "--name", "Max"), 5, "animal 1 was changed in the meantime")
	rex.Name = "Rexina"
	if pets := p.walk(); len(pets) != 1 || pets[0] != rex {
		t.Errorf("there is %+v", pets)
	}
	if r := f.run("pets", "set", "1", "--name", "Max", "--if-match", "*"); r.code != 0 || p.walk()[0].Name != "Max" {
		t.Errorf("%+v", r)
	}
}

// A condition or a key that is empty is a variable that a script has not set: nothing is done without it.
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
		t.Errorf("there is %+v", pets)
	}
}

// On a terminal one is told that something is waited for, and how to end it. Ctrl-C does.
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
	follower.awaitOutput("the animal", func(output string) bool { return strings.Contains(output, "name Rex, categoryId 0") })
	if !strings.Contains(output.String(), "Waiting for events; press Ctrl-C to stop.") {
		t.Errorf("it shows %q", output)
	}
	if _, err := terminal.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if code := follower.exitCode(); code != 0 {
		t.Errorf("it exits with %d: %s", code, output)
	}
}

// What is no answer of the service is told apart from one, and nothing that it says reaches the terminal raw.
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
			panic(http.ErrAbortHandler) // in the middle of it
		}
	}))
	defer other.Close()
	f := newFolder(t, "ANIMALSTORE_KEY=x", "ANIMALSTORE_URL="+other.URL+"/v1")
	expectRefusal(t, f.run("pets", "list"), 6, "does not come from the service. Is --url, or ANIMALSTORE_URL, the address")
	expectRefusal(t, f.run("inventory"), 5, `\u001b[2J\u009b2J Beware.`)
	expectRefusal(t, f.run("orders", "list"), 6, "cannot reach the service at "+other.URL+": EOF")
	expectRefusal(t, f.run("orders", "place", "--pet", "1"), 6, "the change may have been made anyway: check before you retry")
}
