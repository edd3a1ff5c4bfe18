package cli

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

var shownLink = regexp.MustCompile(`\bhttp://\S+/staff/sign-in/link\?token=asl_\w+`)

var shownKey = regexp.MustCompile(`\bask_(?:live|test)_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\b`)

// awaitKey waits for the key and the curl command that the first start prints. It runs the command and returns the
// key and the command's output.
func (b *background) awaitKey(screen *programtest.Transcript) (key, output string) {
	b.T.Helper()
	awaitText(b.T, screen, "/v1/pets\r\n")
	text := screen.String()
	key = shownKey.FindString(text)
	_, line, _ := strings.Cut(text, "    curl ")
	line, _, _ = strings.Cut(line, "\r\n")
	shown, err := exec.Command("sh", "-c", "curl --silent --show-error --noproxy '*' "+line).CombinedOutput()
	if err != nil || strings.Count(text, key) != 2 {
		b.T.Fatalf("curl %s: got %s, %v, want success, and the key and the command once in\n%s", line, shown, err, text)
	}
	b.expect(200, "GET", "/metrics", key, "") // this request requires the admin scope
	return key, string(shown)
}

func TestFirstStartOnTerminalShowsWorkingKey(t *testing.T) {
	for environment, prefix := range map[string]string{"production": "ask_live_", "staging": "ask_test_"} {
		t.Run(environment, func(t *testing.T) {
			newFolder(t)
			s, screen := serveOnTerminal(t, "--environment", environment)
			key, output := s.awaitKey(screen)
			s.expectSignInAs("Owner", shownLink.FindString(screen.String()))
			if !strings.HasPrefix(key, prefix) || output != "[]\n" {
				t.Errorf("got the key %s and the animals %s, want the prefix %s and none", key, output, prefix)
			}
			s.stop()
			second, screen := serveOnTerminal(t, "--environment", environment)
			second.expect(200, "GET", "/v1/pets", key, "")
			expectAddress(t, second, screen)
			second.stop()
			if output := screen.String() + second.Output.String(); strings.Contains(output, "ask_") || strings.Contains(output, "curl") {
				t.Errorf("second start: got %s, want neither a key nor a curl command", output)
			}
		})
	}
}

// expectAddress checks that the terminal shows the address of the staff pages and a command that prints a sign-in link for
// them.
func expectAddress(t *testing.T, s *background, screen *programtest.Transcript) {
	t.Helper()
	awaitText(t, screen, "Staff pages:  "+s.URL+"/\r\n")
	_, line, _ := strings.Cut(screen.String(), "Sign-in link: "+program(os.Args[0])+" ")
	line, _, _ = strings.Cut(line, "\r\n")
	s.expectSignInAs("Owner", strings.TrimSpace(succeed(t, strings.Fields(line)...).Stdout))
}

// expectSignInAs checks that a link opens a page of this service that signs in as the person with the given name.
func (b *background) expectSignInAs(name, link string) {
	b.T.Helper()
	path, found := strings.CutPrefix(link, b.URL)
	if !found {
		b.T.Fatalf("got the link %q, want one of %s", link, b.URL)
	}
	if page := b.expect(200, "GET", path, "", ""); !strings.Contains(page, "Sign in as "+name+"<") {
		b.T.Errorf("the link %s: got %s, want a page that signs in as %s", link, page, name)
	}
}

// The suggested command for a sign-in link starts the program in the same way as the user did.
func TestStartShowsHowToRunTheProgram(t *testing.T) {
	t.Parallel()
	for started, want := range map[string]string{
		"animalstore":          "animalstore",
		"./bin/animalstore":    "./bin/animalstore",
		"/usr/bin/animalstore": "/usr/bin/animalstore",
		"my shop/animalstore":  "'my shop/animalstore'",
		"/tmp/go-build2626655870/b001/exe/animalstore": "go run ./cmd/animalstore",
	} {
		if got := program(started); got != want {
			t.Errorf("%s: got %s, want %s", started, got, want)
		}
	}
}

// A key must not end up in a log file. The log only says how to create one.
func TestFirstStartWithoutTerminalCreatesNoKey(t *testing.T) {
	newFolder(t)
	// The loop creates a key after the first start, so the second start finds one.
	for keys, hints := range []int{1, 0} {
		s := serve(t)
		s.stop()
		log, list := s.Output.String(), succeed(t, "keys", "list").Stdout
		n := strings.Count(log, program(os.Args[0])+" link --public-url "+s.URL+"/v1 --database ")
		if n != hints || strings.Contains(log, "ask_") || strings.Count(list, " admin ") != keys {
			t.Errorf("got %d hints, want %d, %d keys in the list and none in the log:\n%s%s", n, hints, keys, list, log)
		}
		createKey(t, "--name", "n")
	}
}

func TestFirstStartWithConfiguredKeyCreatesNoKey(t *testing.T) {
	newFolder(t, "ANIMALSTORE_API_KEY="+adminKey)
	s, screen := serveOnTerminal(t)
	s.Get("/v1/pets")
	output := screen.String() + s.Output.String() + succeed(t, "keys", "list").Stdout
	if strings.Contains(output, "ask_") || strings.Contains(output, " admin ") {
		t.Errorf("got %s, want no key", output)
	}
	expectAddress(t, s, screen)
	s.stop()
}

// A process that is stopped while it is starting still prints the key that it has created and the note about the
// demo.
func TestStopDuringStartPrintsTheFirstKey(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	screen, output := openTerminal(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	command, log := &serveCommand{Database: s.Database}, slog.New(slog.DiscardHandler)
	shoptest.OK(t, command.bootstrapKey(stopped, s.Service, terminal{out: output}, log, "http://127.0.0.1:1", 7))
	awaitText(t, screen, "This is a demo: a shop with 7 animals")
	awaitText(t, screen, "/v1/pets\r\n")
	if _, err := s.Authenticate(t.Context(), shownKey.FindString(screen.String())); err != nil {
		t.Errorf("the key in %q is refused: %v", screen, err)
	}
}

// The first start with --demo fills the store, and a restart changes nothing. Nobody can use the keys in the demo data.
// Until the store has another key, a start on a terminal creates a key and shows it, and a start without a terminal
// logs how to create one. This also applies if an earlier start failed after filling the store.
func TestDemoShowsKeyUntilOneWasSeen(t *testing.T) {
	newFolder(t)
	if r := animalstore(t, "serve", "--demo", "--addr", programtest.TakenAddr(t)); r.Code != 1 {
		t.Errorf("serve on a port in use: got %v, want exit code 1", r)
	}
	s := serve(t, "--demo")
	s.stop()
	if log := s.Output.String(); strings.Contains(log, "ask_") || !strings.Contains(log, " keys create --name admin --database ") {
		t.Errorf("got %s, want no key in the log but how to create one", log)
	}
	s, screen := serveOnTerminal(t, "--demo")
	key, output := s.awaitKey(screen)
	if n := strings.Count(output, `"name":`); n != 20 {
		t.Errorf("got %d animals, want a page of 20", n)
	}
	before := s.expect(200, "GET", "/v1/store/inventory", key, "")
	s.stop()
	s, screen = serveOnTerminal(t, "--demo")
	if got := s.expect(200, "GET", "/v1/store/inventory", key, ""); got != before {
		t.Errorf("inventory after a restart: got %s, want %s", got, before)
	}
	s.stop()
	if strings.Contains(screen.String(), "ask_") || !strings.Contains(s.Output.String(), "animals_added=0") {
		t.Errorf("restart: got %s%s, want no key and animals_added=0", screen, s.Output)
	}
}
