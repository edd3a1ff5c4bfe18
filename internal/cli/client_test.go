package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"animalstore/api/apitest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// TestScripts runs the scripts in testdata/script, which use the commands as people would. The commands and the
// service run in this process, except those that a script starts with exec or signal-at-request.
func TestScripts(t *testing.T) {
	scripts := shoptest.Must(filepath.Abs("testdata/script"))(t)
	installProgram(t)
	// The scripts change these variables. newFolder restores them when the test ends.
	newFolder(t, "ANIMALSTORE_API_KEY=", "ANIMALSTORE_KEY=", "ANIMALSTORE_URL=")
	testscript.RunT(sequentialT{t}, testscript.Params{
		Dir: scripts,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, "PATH="+os.Getenv("PATH"), "GORACE="+os.Getenv("GORACE"), "no_proxy=*",
				"ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_KEY="+adminKey, "NEXT_MONTH="+nextMonth)
			env.Values["t"], env.Values["service"] = env.T().(sequentialT).T, new(*background)
			return os.Chdir(env.WorkDir)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"animalstore":       func(ts *testscript.TestScript, _ bool, args []string) { runInScript(ts, "0", args) },
			"exit-code":         func(ts *testscript.TestScript, _ bool, args []string) { runInScript(ts, args[0], args[2:]) },
			"serve":             scriptServe,
			"stop-service":      func(ts *testscript.TestScript, _ bool, _ []string) { (*ts.Value("service").(**background)).stop() },
			"store-has":         scriptStoreHas,
			"signal-at-request": scriptSignalAtRequest,
		},
	})
}

// sequentialT runs scripts one after the other, because they share the working directory and the environment.
type sequentialT struct{ *testing.T }

func (sequentialT) Parallel()     {}
func (sequentialT) Verbose() bool { return testing.Verbose() }
func (t sequentialT) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(sequentialT{t}) })
}

// runInScript implements the script commands "animalstore [ARG...]", which must succeed, and "exit-code N animalstore
// [ARG...]", which must exit with the code N.
func runInScript(ts *testscript.TestScript, want string, args []string) {
	setScriptVariables(ts)
	if code := run(ts.Value("t").(*testing.T).Context(), args, terminal{ts.Stdout(), ts.Stderr()}); strconv.Itoa(code) != want {
		ts.Fatalf("exit code: got %d, want %s", code, want)
	}
}

// setScriptVariables copies the script's ANIMALSTORE_ variables to the environment of this process.
func setScriptVariables(ts *testscript.TestScript) {
	for _, name := range []string{"ANIMALSTORE_API_KEY", "ANIMALSTORE_KEY", "ANIMALSTORE_URL"} {
		ts.Check(os.Setenv(name, ts.Getenv(name)))
	}
}

// scriptServe implements the script command "serve", which starts the service for the commands that follow.
func scriptServe(ts *testscript.TestScript, _ bool, args []string) {
	setScriptVariables(ts)
	s := serve(ts.Value("t").(*testing.T), args...)
	ts.Defer(s.stop)
	*ts.Value("service").(**background) = s
	ts.Setenv("ANIMALSTORE_URL", s.URL+"/v1")
}

// scriptStoreHas implements the script command "store-has N", which checks that the store has N animals.
func scriptStoreHas(ts *testscript.TestScript, _ bool, args []string) {
	setScriptVariables(ts)
	t := ts.Value("t").(*testing.T)
	if got := strings.Count(succeed(t, "export", "--format", "ndjson", "-").Stdout, "\n"); strconv.Itoa(got) != args[0] {
		ts.Fatalf("animals in the store: got %d, want %s", got, args[0])
	}
}

// scriptSignalAtRequest implements "signal-at-request N SIGNAL animalstore [ARG...]". It sends the signal while the
// program is waiting for the response to its Nth request, not counting dry runs. The last line on stderr is the
// program's exit code.
func scriptSignalAtRequest(ts *testscript.TestScript, _ bool, args []string) {
	last, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	signal := map[string]os.Signal{"INT": syscall.SIGINT, "KILL": syscall.SIGKILL}[args[1]]
	setScriptVariables(ts)
	command := exec.Command(args[2], args[3:]...)
	command.Stdout, command.Stderr = ts.Stdout(), ts.Stderr()
	var requests atomic.Int64
	started := make(chan struct{})
	service := strings.TrimSuffix(ts.Getenv("ANIMALSTORE_URL"), "/v1")
	gateway := newProxy(ts.Value("t").(*testing.T), service, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.URL.Query().Has("dryRun") || requests.Add(1) != last {
			forward.ServeHTTP(w, r)
			return
		}
		forward.ServeHTTP(httptest.NewRecorder(), r)
		<-started
		command.Process.Signal(signal)
		<-r.Context().Done() // wait until the program has exited
	})
	command.Env = append(os.Environ(), "ANIMALSTORE_URL="+gateway)
	ts.Check(command.Start())
	close(started)
	command.Wait() // the error can be ignored, because the exit code is printed below
	if n := requests.Load(); n != last {
		ts.Fatalf("requests before the signal: got %d, want %d", n, last)
	}
	fmt.Fprintf(ts.Stderr(), "exit code %d\n", command.ProcessState.ExitCode())
}

const keyHint = ` The key came from ANIMALSTORE_KEY or --key-file; create another with animalstore keys create\.`

// All client commands report the same problem, such as an unknown key or an invalid URL, with the same message and
// exit code.
func TestClientCommandsReportConnectionErrors(t *testing.T) {
	folder, _ := newShop(t)
	folder.Write("other", "the-key-of-somebody-else")
	folder.Write("orders", createKey(t, "--name", "buyer", "--scope", "pets:read"))
	folder.Write("others", createKey(t, "--name", "reader", "--scope", "orders:read"))
	for _, fault := range []struct {
		name, flags, key string
		code             int
		want             string
	}{
		{"unknown key", "--key-file=other", adminKey, exitKey, `The API key is unknown or has expired; .*\.` + keyHint},
		{"no scope", "--key-file=orders", adminKey, exitKey, `This API key may not do that; use one with the scope \w+:\w+\.` + keyHint},
		{"no HTTP URL", "--url=ftp://127.0.0.1/v1", adminKey, exitUsage, `--url: expected a URL such as http://127\.0\.0\.1:8080/v1`},
		{"missing key file", "--key-file=nowhere", adminKey, exitUsage, `--key-file: open nowhere: no such file or directory`},
		{"no key", "", "", exitUsage, `no API key: set ANIMALSTORE_KEY, or name a file with --key-file; create a key with animalstore keys create`},
		{"unknown format", "--output=xml", adminKey, exitUsage, `--output must be one of "table","json".*`},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Setenv("ANIMALSTORE_KEY", fault.key)
			expectFromEveryClientCommand(t, fault.flags, fault.code, fault.want)
		})
	}
	t.Setenv("ANIMALSTORE_KEY", "schlüssel")
	expectRefusal(t, animalstore(t, "inventory"), exitUsage, "ANIMALSTORE_KEY: the key may contain only visible ASCII characters and no spaces")
}

// This test is parallel because the commands wait between their attempts.
func TestClientCommandsReportUnreachableService(t *testing.T) {
	t.Parallel()
	key := programtest.NewFolder(t).Write("key", adminKey)
	expectFromEveryClientCommand(t, "--url=http://127.0.0.1:1/v1 --key-file="+key, exitUnreachable, `cannot reach the service at http://127\.0\.0\.1:1: `+
		`.*connection refused; start it with animalstore serve, or set its URL with --url or ANIMALSTORE_URL`)
}

// expectFromEveryClientCommand runs all client commands with the given flags. Each must fail with the given exit code
// and a message that matches want.
func expectFromEveryClientCommand(t *testing.T, flags string, code int, want string) {
	t.Helper()
	files := programtest.NewFolder(t)
	names := strings.NewReplacer("pets.csv", files.Write("pets.csv", "name,categoryId\nRex,1\n"), "rex.png", files.Write("rex.png", "an image"))
	commands := maps.Clone(clientCommands)
	commands["events --follow"] = ""
	var running sync.WaitGroup
	for command, arguments := range commands {
		code, want := code, want
		if command == "mcp" && (strings.HasPrefix(flags, "--output") || strings.Contains(want, "with the scope")) {
			continue // mcp has no --output flag and requires no particular scope
		}
		if (strings.HasPrefix(command, "store ") || command == "orders erase-customer") && strings.Contains(want, "with the scope") {
			continue // every key may show the store, and the scopes admin and customers, which the others need, have no colon
		}
		if command == "import" || command == "export" {
			if strings.HasPrefix(flags, "--output") {
				continue // import and export have no --output flag
			}
			// Only the everyday commands print hints and use exit codes other than exitUsage and exitError.
			if code != exitUsage {
				code = exitError
				want, _, _ = strings.Cut(`(\S*: )?`+strings.TrimSuffix(want, keyHint), "; start it")
			}
		}
		line := command + " " + names.Replace(arguments) + " " + flags
		if !strings.HasPrefix(command, "orders") {
			line = strings.Replace(line, "--key-file=orders", "--key-file=others", 1)
		}
		args := strings.Fields(line)
		running.Go(func() {
			r := animalstore(t, args...)
			if r.Code != code || r.Stdout != "" || !regexp.MustCompile(`^animalstore: `+want+`\n$`).MatchString(r.Stderr) {
				t.Errorf("%q: got %v, want exit code %d and %q on stderr", args, r, code, want)
			}
		})
	}
	running.Wait()
}

// A command that is interrupted while it is waiting for a response exits with 130. If it was changing something, it
// says that the change may have been made.
func TestInterruptedCommandsSayWhatMayHaveHappened(t *testing.T) {
	newFolder(t, "ANIMALSTORE_KEY=x").Write("rex.png", "an image")
	for command, args := range clientCommands {
		if command == "import" || command == "export" {
			continue // these commands have other messages and another exit code
		}
		t.Run(command, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			silent := shoptest.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				interrupt()
				<-r.Context().Done() // wait until the command has given up
			}))
			if command == "pets set" || command == "orders set" {
				args += " --if-match=*" // without this flag, the first request would read the resource
			}
			want := result{Code: exitInterrupted, Stderr: "animalstore: interrupted\n"}
			if verb := strings.Fields(command + " show")[1]; verb != "list" && verb != "show" {
				want.Stderr = "animalstore: interrupted; the change may have been made anyway: check before you retry\n"
			}
			if r := animalstoreUntil(ctx, strings.Fields(command+" "+args+" --url="+silent.URL+"/v1")...); r != want {
				t.Errorf("got %v, want %v", r, want)
			}
		})
	}
}

// Commands report a response that does not come from animalstore. They escape the text of a response before they print
// it, because the text could control the terminal.
func TestCommandsRejectResponsesFromOtherServers(t *testing.T) {
	other := shoptest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/pets":
			http.Error(w, "<h1>Nothing here</h1>", http.StatusNotFound)
		case "/v1/store/inventory":
			http.Error(w, `{"code":"gone_mad","message":"\u001b[2J\u009b2J Beware.","status":409}`, http.StatusConflict)
		default:
			panic(http.ErrAbortHandler) // close the connection without sending a response
		}
	}))
	newFolder(t, "ANIMALSTORE_KEY=x", "ANIMALSTORE_URL="+other.URL+"/v1")
	expectRefusal(t, animalstore(t, "pets", "list"), exitUnreachable, "does not come from the service. Is --url or ANIMALSTORE_URL the URL")
	expectRefusal(t, animalstore(t, "inventory"), exitRefused, `\u001b[2J\u009b2J Beware.`)
	expectRefusal(t, animalstore(t, "orders", "list"), exitUnreachable, "cannot reach the service at "+other.URL+": EOF")
	expectRefusal(t, animalstore(t, "orders", "place", "--pet", "1"), exitUnreachable, "the change may have been made anyway: check before you retry")
}

// pets set does not overwrite a change that somebody else makes after the command has read the animal.
func TestPetsSetKeepsConcurrentChange(t *testing.T) {
	_, s := newShop(t)
	s.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	interceptor := newProxy(t, s.URL, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method == http.MethodPatch {
			s.expect(200, "PATCH", r.URL.Path, adminKey, `{"name":"Rexina"}`)
		}
		forward.ServeHTTP(w, r)
	})
	set := []string{"pets", "set", "1", "--name", "Max", "--url", interceptor}
	expectRefusal(t, animalstore(t, set...), exitRefused, "animal 1 was changed in the meantime")
	kept := succeed(t, "pets", "show", "1").Stdout
	succeed(t, append(set, "--if-match", "*")...)
	forced := succeed(t, "pets", "show", "1").Stdout
	if !strings.Contains(kept, "Rexina") || !strings.Contains(forced, "Max") {
		t.Errorf("got %s and, with --if-match *, %s, want Rexina and Max", kept, forced)
	}
}

func TestEventsCommandExitsWhenKeyIsRevoked(t *testing.T) {
	_, s := newShop(t)
	s.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	t.Setenv("ANIMALSTORE_KEY", createKey(t, "--name", "reader", "--scope", "events:read"))
	follower := start(t, nil, "events", "--follow", "--after", "0")
	follower.await("pet.created") // this event shows that the command is connected
	createKey(t, "--name", "other")
	succeed(t, "keys", "revoke", "1")
	follower.exit(exitKey)
	follower.await("The API key is unknown or has expired")
}

// events --follow says that a restore has undone events, and continues after the service has restarted. When it is
// interrupted, it exits with code 0.
func TestEventsCommandReportsRestoreAndContinues(t *testing.T) {
	_, s := newShop(t)
	s.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	succeed(t, "backup", "backup.db")
	s.Create(programtest.Pet{Name: "Mia", CategoryID: 1})
	follower := start(t, nil, "events", "--follow", "--after", "0")
	follower.await("name Mia")
	undone := strings.Fields(succeed(t, "events", "--limit", "1").Stdout)[6] // the id in the first row below the header
	s.stop()
	succeed(t, "restore", "--force", "backup.db")
	s = serve(t, "--addr", s.addr())
	s.Create(programtest.Pet{Name: "Leo", CategoryID: 1})
	follower.await("name Leo")
	follower.await("animalstore: Events up to this one were undone when the store was restored from a backup")
	follower.interrupt()
	follower.exit(0)
	for _, limit := range []string{"1", "20", "9223372036854775807"} {
		r := succeed(t, "events", "--limit", limit, "--type", "pet.created")
		if !strings.Contains(r.Stdout, "name Leo") || strings.Contains(r.Stdout, "Mia") {
			t.Errorf("events --limit %s: got %v, want the event of Leo and none of Mia", limit, r)
		}
	}
	expectRefusal(t, animalstore(t, "events", "--after", undone), exitRefused, "were undone", "continue after ")
}

// This test starts a process, because Ctrl-C makes a terminal send a signal to a process.
func TestEventsCommandOnTerminalStopsOnCtrlC(t *testing.T) {
	folder, s := newShop(t)
	s.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	installProgram(t)
	command := exec.Command("animalstore", "events", "--follow", "--all")
	keyboard := shoptest.Must(pty.Start(command))(t)
	defer keyboard.Close()
	screen := &programtest.Transcript{}
	go io.Copy(screen, keyboard) // Copy returns an error when the program exits
	program := folder.Watch(command, screen)
	awaitText(t, screen, "Waiting for events; press Ctrl-C to stop.")
	awaitText(t, screen, "name Rex, categoryId 1")
	io.WriteString(keyboard, "\x03")
	if code := program.ExitCode(); code != 0 {
		t.Errorf("exit code after Ctrl-C: got %d, want 0; the terminal shows %q", code, screen)
	}
}

func TestImportAndExportShowProgressOnTerminal(t *testing.T) {
	folder, _ := newShop(t)
	t.Setenv("TERM", "xterm")
	folder.Write("pets.ndjson", strings.Repeat(`{"name":"Rex","categoryId":1}`+"\n", 6000))
	for _, verb := range []string{"Import", "Export"} {
		screen, output := openTerminal(t)
		if code := run(t.Context(), []string{strings.ToLower(verb), "pets.ndjson"}, terminal{output, output}); code != 0 {
			t.Errorf("%s: got exit code %d, want 0", verb, code)
		}
		awaitText(t, screen, verb+"ed 6000 animals.")
		if text := screen.String(); !strings.Contains(text, verb+"ing") || !strings.Contains(text, "%") {
			t.Errorf("%s: got %q, want a progress bar", verb, text)
		}
	}
}

// On a terminal, photos add shows its progress between the photos that it has added.
func TestPhotosAddShowsProgressOnTerminal(t *testing.T) {
	folder, _ := newShop(t)
	t.Setenv("TERM", "xterm")
	succeed(t, "pets", "add", "--name", "Rex", "--category", "1")
	folder.Write("rex.png", shoptest.Must(apitest.ExampleImages())(t)["rex.png"])
	screen, output := openTerminal(t)
	if code := run(t.Context(), []string{"photos", "add", "1", "rex.png", "rex.png"}, terminal{output, output}); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	awaitText(t, screen, "\rAdded photo 2, rex.png.") // at the beginning of a line
	if text := screen.String(); !strings.Contains(text, "Sending photos") || !strings.Contains(text, "\rAdded photo 1, rex.png.") {
		t.Errorf("got %q, want a progress bar that is removed before each result", text)
	}
}

// An export to a slow client completes even if the service is being stopped.
func TestShutdownWaitsForExport(t *testing.T) {
	folder, s := newShop(t)
	const animals = 9000
	// The export must be larger than the buffers between the service and the client.
	line := `{"name":"` + strings.Repeat("🐈", 200) + `","categoryId":1}` + "\n"
	folder.Write("pets.ndjson", strings.Repeat(line, animals))
	succeed(t, "import", "pets.ndjson")
	request := httptest.NewRequest("GET", s.URL+"/v1/exports/pets.csv", nil)
	request.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Accept-Encoding": {"identity"}}
	response := shoptest.Must(http.DefaultTransport.RoundTrip(request))(t)
	defer response.Body.Close()
	s.interrupt()
	s.await("msg=stopping")
	body, err := io.ReadAll(response.Body)
	if n := strings.Count(string(body), "\n"); err != nil || n != animals+1 {
		t.Errorf("export: got %d lines, %v, want %d", n, err, animals+1)
	}
	s.exit(0)
}
