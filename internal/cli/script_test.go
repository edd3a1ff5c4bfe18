package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata/script, which use the commands as people would. The commands and the
// service run in this process, except those that a script starts with exec or signal-at-request.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Abs("testdata/script")
	if err != nil {
		t.Fatal(err)
	}
	newFolder(t, "ANIMALSTORE_API_KEY=", "ANIMALSTORE_KEY=", "ANIMALSTORE_URL=") // restores these in the end
	testscript.RunT(sequentialT{t}, testscript.Params{
		Dir: scripts,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, "PATH="+os.Getenv("PATH"), "GORACE="+os.Getenv("GORACE"), "no_proxy=*",
				"ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_KEY="+adminKey)
			env.Values["t"], env.Values["service"] = env.T().(sequentialT).T, new(*service)
			return os.Chdir(env.WorkDir)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"animalstore":       scriptAnimalstore,
			"exit-code":         scriptExitCode,
			"serve":             scriptServe,
			"stop-service":      func(ts *testscript.TestScript, _ bool, _ []string) { (*ts.Value("service").(**service)).stop() },
			"store-has":         scriptStoreHas,
			"signal-at-request": scriptSignalAtRequest,
		},
	})
}

// sequentialT runs scripts one after the other, because they share this process's working directory and
// environment.
type sequentialT struct{ *testing.T }

func (sequentialT) Parallel()     {}
func (sequentialT) Verbose() bool { return testing.Verbose() }
func (t sequentialT) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(sequentialT{t}) })
}

// scriptAnimalstore implements the script command "animalstore [ARG...]", which must succeed.
func scriptAnimalstore(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("use exit-code instead of !")
	}
	runInScript(ts, 0, args)
}

// scriptExitCode implements the script command "exit-code N animalstore [ARG...]".
func scriptExitCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if args[1] != "animalstore" {
		ts.Fatalf("exit-code can run only animalstore")
	}
	runInScript(ts, want, args[2:])
}

func runInScript(ts *testscript.TestScript, want int, args []string) {
	setScriptVariables(ts)
	t := ts.Value("t").(*testing.T)
	if code := run(t.Context(), args, terminal{ts.Stdout(), ts.Stderr()}); code != want {
		ts.Fatalf("exit code: got %d, want %d", code, want)
	}
}

// setScriptVariables gives this process the variables of the script.
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
	*ts.Value("service").(**service) = s
	ts.Setenv("ANIMALSTORE_URL", s.url+"/v1")
}

// scriptStoreHas implements the script command "store-has N", which counts the animals in the store.
func scriptStoreHas(ts *testscript.TestScript, _ bool, args []string) {
	setScriptVariables(ts)
	t := ts.Value("t").(*testing.T)
	if got := strings.Count(succeed(t, "export", "--format", "ndjson", "-").stdout, "\n"); strconv.Itoa(got) != args[0] {
		ts.Fatalf("animals in the store: got %d, want %s", got, args[0])
	}
}

// scriptSignalAtRequest implements the script command "signal-at-request N SIGNAL animalstore [ARG...]". It
// starts the program and sends it the signal when the service has handled its request number N and the program
// still waits for the response. Dry runs do not count. The program's exit code is the last line on stderr.
func scriptSignalAtRequest(ts *testscript.TestScript, _ bool, args []string) {
	last, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	signal := map[string]os.Signal{"INT": syscall.SIGINT, "KILL": syscall.SIGKILL}[args[1]]
	service, err := url.Parse(strings.TrimSuffix(ts.Getenv("ANIMALSTORE_URL"), "/v1"))
	ts.Check(err)
	setScriptVariables(ts)
	command := exec.Command(args[2], args[3:]...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	forward := httputil.NewSingleHostReverseProxy(service)
	var requests atomic.Int64
	started := make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("dryRun") || requests.Add(1) != last {
			forward.ServeHTTP(w, r)
			return
		}
		forward.ServeHTTP(httptest.NewRecorder(), r)
		<-started
		command.Process.Signal(signal)
		<-r.Context().Done() // the program has exited
	}))
	defer gateway.Close()
	command.Env = append(os.Environ(), "ANIMALSTORE_URL="+gateway.URL+"/v1")
	ts.Check(command.Start())
	close(started)
	command.Wait() // the exit code is what counts
	if n := requests.Load(); n != last {
		ts.Fatalf("requests before the signal: got %d, want %d", n, last)
	}
	fmt.Fprint(ts.Stdout(), stdout.String())
	fmt.Fprintf(ts.Stderr(), "%sexit code %d\n", stderr.String(), command.ProcessState.ExitCode())
}
