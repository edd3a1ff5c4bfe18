package e2e

import (
	"bytes"
	"errors"
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
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata/script, which use the program's commands as people would.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
				"ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_KEY="+adminKey, "GORACE=atexit_sleep_ms=0", "no_proxy=*")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve":   scriptServe,
			"exits":   scriptExits,
			"animals": scriptAnimals,
			"ends":    scriptEnds,
		},
	})
}

// scriptServe implements the script command "serve [ARG...]". It starts the service and sets ANIMALSTORE_URL
// for the commands that follow.
func scriptServe(ts *testscript.TestScript, _ bool, args []string) {
	command := exec.Command(binary, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	command.Dir, command.Env = ts.MkAbs("."), scriptEnvironment(ts)
	output := &transcript{}
	command.Stdout, command.Stderr = output, output
	ts.Check(command.Start())
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		command.Wait()
	}()
	ts.Defer(func() {
		command.Process.Signal(syscall.SIGTERM)
		<-exited
		if log := output.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "level=ERROR") || command.ProcessState.ExitCode() != 0 {
			ts.Fatalf("the service failed, logged an error or has a data race:\n%s", log)
		}
	})
	for deadline := time.Now().Add(waitTimeout); !listening.MatchString(output.String()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("the service does not listen after %s:\n%s", waitTimeout, output.String())
		}
	}
	ts.Setenv("ANIMALSTORE_URL", "http://"+listening.FindStringSubmatch(output.String())[1]+"/v1")
}

func scriptEnvironment(ts *testscript.TestScript) (variables []string) {
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "ANIMALSTORE_API_KEY", "ANIMALSTORE_KEY", "ANIMALSTORE_URL", "GORACE", "no_proxy"} {
		variables = append(variables, name+"="+ts.Getenv(name))
	}
	return variables
}

// scriptExits implements the script command "exits CODE COMMAND [ARG...]". It runs a command and checks its
// exit code.
func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = ended.ExitCode()
	}
	if code != want {
		ts.Fatalf("%q exited with %d, want %d", args[1:], code, want)
	}
}

// scriptAnimals implements the script command "animals N". It checks that the service has N animals.
func scriptAnimals(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("animalstore", "export", "--format", "ndjson", "-"))
	if got := strconv.Itoa(strings.Count(ts.ReadFile("stdout"), "\n")); got != args[0] {
		ts.Fatalf("there are %s animals, want %s", got, args[0])
	}
}

// scriptEnds implements the script command "ends SIGNAL N [ARG...]". It runs the program and sends it the
// signal after the service has handled the program's Nth request but before the program receives the
// response. Dry runs do not count as requests. The output and the exit code are written to the file "ended".
func scriptEnds(ts *testscript.TestScript, _ bool, args []string) {
	signal := map[string]os.Signal{"INT": syscall.SIGINT, "KILL": syscall.SIGKILL}[args[0]]
	last, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	service, err := url.Parse(strings.TrimSuffix(ts.Getenv("ANIMALSTORE_URL"), "/v1"))
	ts.Check(err)
	command := exec.Command(binary, args[2:]...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	proxy := httputil.NewSingleHostReverseProxy(service)
	var requests atomic.Int64
	started := make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("dryRun") || requests.Add(1) != last {
			proxy.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		<-started
		command.Process.Signal(signal)
		<-r.Context().Done() // the program has exited
	}))
	defer gateway.Close()
	command.Dir = ts.MkAbs(".")
	command.Env = append(scriptEnvironment(ts), "ANIMALSTORE_URL="+gateway.URL+"/v1")
	ts.Check(command.Start())
	close(started)
	err = command.Wait()
	if _, ended := errors.AsType[*exec.ExitError](err); !ended {
		ts.Fatalf("got %v, want the program to end because of the signal", err)
	}
	if n := requests.Load(); n != last {
		ts.Fatalf("the program sent %d requests, want %d before the signal", n, last)
	}
	text := fmt.Sprintf("%s%sexits with %d\n", &stdout, &stderr, command.ProcessState.ExitCode())
	ts.Check(os.WriteFile(ts.MkAbs("ended"), []byte(text), 0o600))
}
