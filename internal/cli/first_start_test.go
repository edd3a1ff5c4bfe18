package cli

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shoptest"
)

var shownKey = regexp.MustCompile(`\bask_(?:live|test)_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\b`)

// awaitKey waits for the key and the curl command that the first start prints, and runs the command. It returns
// the key and the command's output.
func (s *service) awaitKey(screen *transcript) (key, output string) {
	s.t.Helper()
	awaitText(s.t, screen, s.exited, "/v1/pets\r\n")
	text := screen.String()
	key = shownKey.FindString(text)
	_, line, _ := strings.Cut(text, "    curl ")
	line, _, _ = strings.Cut(line, "\r\n")
	shown, err := exec.Command("sh", "-c", "curl --silent --show-error --noproxy '*' "+line).CombinedOutput()
	if err != nil || strings.Count(text, key) != 2 {
		s.t.Fatalf("curl %s: got %s, %v, want success, and the key and the command once in\n%s", line, shown, err, text)
	}
	s.expect(200, "GET", "/metrics", key, "") // requires the scope admin
	return key, string(shown)
}

func TestFirstStartOnTerminalShowsWorkingKey(t *testing.T) {
	for environment, prefix := range map[string]string{"production": "ask_live_", "staging": "ask_test_"} {
		t.Run(environment, func(t *testing.T) {
			newFolder(t)
			s, screen := serveOnTerminal(t, "--environment", environment)
			key, output := s.awaitKey(screen)
			if !strings.HasPrefix(key, prefix) || output != "[]\n" {
				t.Errorf("got the key %s and the animals %s, want the prefix %s and none", key, output, prefix)
			}
			s.stop()
			second, screen := serveOnTerminal(t, "--environment", environment)
			second.expect(200, "GET", "/v1/pets", key, "")
			second.stop()
			if output := screen.String() + second.output.String(); strings.Contains(output, "ask_") || strings.Contains(output, "curl") {
				t.Errorf("second start: got %s, want neither a key nor a curl command", output)
			}
		})
	}
}

// A key must not end up in a log file. The log only says how to create one.
func TestFirstStartWithoutTerminalCreatesNoKey(t *testing.T) {
	newFolder(t)
	s := serve(t)
	s.stop()
	if n := strings.Count(s.output.String(), "animalstore keys create --name admin --database "); n != 1 || strings.Contains(s.output.String(), "ask_") {
		t.Errorf("got %d hints, want 1 and no key:\n%s", n, s.output)
	}
	expectFirstKey(t)
	second := serve(t)
	second.stop()
	if strings.Contains(second.output.String(), "keys create") {
		t.Error("the second start says how to create a key, although one exists")
	}
}

func TestFirstStartWithConfiguredKeyCreatesNoKey(t *testing.T) {
	newFolderWithKey(t)
	s, screen := serveOnTerminal(t)
	s.expect(200, "GET", "/v1/pets", adminKey, "")
	s.stop()
	if output := screen.String() + s.output.String(); strings.Contains(output, "ask_") || strings.Contains(output, "keys create") {
		t.Errorf("got %s, want neither a key nor how to create one", output)
	}
	expectFirstKey(t)
}

// expectFirstKey creates a key and checks that it is the store's first one.
func expectFirstKey(t *testing.T) {
	t.Helper()
	if r := succeed(t, "keys", "create", "--name", "next"); !strings.HasPrefix(r.stderr, "Created key 1 (next) for the production environment, with admin.") {
		t.Errorf("keys create: got %v, want the first key", r)
	}
}

// A process that is stopped while it starts still prints the key that it has created.
func TestStopDuringStartPrintsTheFirstKey(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	screen, output := openTerminal(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	command := &serveCommand{Database: s.Database}
	if err := command.bootstrapKey(stopped, s.Service, terminal{out: output}, slog.New(slog.DiscardHandler), "http://127.0.0.1:1", 0); err != nil {
		t.Fatal(err)
	}
	awaitText(t, screen, nil, "/v1/pets\r\n")
	if _, err := s.Authenticate(t.Context(), shownKey.FindString(screen.String())); err != nil {
		t.Errorf("the key in %q is refused: %v", screen, err)
	}
}

func TestDemoStartsFilledAndRestartsUnchanged(t *testing.T) {
	newFolder(t)
	s, screen := serveOnTerminal(t, "--demo")
	key, output := s.awaitKey(screen)
	if n := strings.Count(output, `"name":`); n != 20 || !strings.Contains(screen.String(), "This is a demo: a shop with ") {
		t.Errorf("got %d animals and %s, want a page of animals and the note about the demo", n, screen)
	}
	before := s.expect(200, "GET", "/v1/store/inventory", key, "")
	s.stop()
	second, screen := serveOnTerminal(t, "--demo")
	if got := second.expect(200, "GET", "/v1/store/inventory", key, ""); got != before {
		t.Errorf("inventory after the second start: got %s, want %s", got, before)
	}
	second.stop()
	if strings.Contains(screen.String(), "ask_") || !strings.Contains(second.output.String(), "animals_added=0") {
		t.Errorf("second start: got %s%s, want no key and animals_added=0", screen, second.output)
	}
}

// The keys in the demo data are made up. Until somebody has seen a real one, every start shows one on a terminal
// or says in the log how to create it, even if an earlier start failed after it had filled the store.
func TestDemoShowsKeyUntilOneWasSeen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	newFolder(t)
	if r := animalstore(t, "serve", "--demo", "--addr", taken.Addr().String()); r.code != 1 || !strings.Contains(r.stderr, "cannot listen") {
		t.Errorf("serve on a port in use: got %v, want exit code 1 and %q", r, "cannot listen")
	}
	s := serve(t, "--demo")
	s.stop()
	if log := s.output.String(); strings.Contains(log, "ask_") || !strings.Contains(log, "animalstore keys create") {
		t.Errorf("got %s, want no key in the log but how to create one", log)
	}
	s, screen := serveOnTerminal(t, "--demo")
	s.awaitKey(screen)
}
