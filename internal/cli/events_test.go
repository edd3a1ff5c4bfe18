package cli

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// follow starts the events command and waits for its first event, so that it is connected.
func follow(t *testing.T, first string, args ...string) *background {
	t.Helper()
	b := start(t, nil, append([]string{"events", "--follow", "--after", "0"}, args...)...)
	b.await(first)
	return b
}

func (s *service) addPet(name string) {
	s.t.Helper()
	s.expect(201, "POST", "/v1/pets", adminKey, `{"name":"`+name+`","categoryId":1}`)
}

func TestEventsCommandExitsWhenKeyIsRevoked(t *testing.T) {
	newFolder(t)
	s := serve(t)
	s.useForCommands()
	t.Setenv("ANIMALSTORE_KEY", createKey(t, "--name", "reader", "--scope", "events:read"))
	follower := follow(t, "key.created")
	createKey(t, "--name", "other")
	succeed(t, "keys", "revoke", "1")
	follower.exit(exitKey)
	follower.await("The API key is unknown or has expired")
}

// The command goes on when the service has been restarted. If a restore has undone events that it has printed, it
// says so. Ctrl-C is no error.
func TestEventsCommandReportsRestoreAndContinues(t *testing.T) {
	newFolderWithKey(t)
	s := serve(t)
	s.useForCommands()
	s.addPet("Rex")
	succeed(t, "backup", "backup.db")
	s.addPet("Mia")
	follower := follow(t, "name Mia")
	undone := strings.Fields(succeed(t, "events", "--limit", "1").stdout)[6] // the first word below the header
	s.stop()
	succeed(t, "restore", "--force", "backup.db")
	s = serve(t, "--addr", s.addr)
	s.addPet("Leo")
	follower.await("name Leo")
	follower.await("animalstore: Events up to this one were undone when the store was restored from a backup")
	follower.interrupt()
	follower.exit(0)
	for _, limit := range []string{"1", "2", "20", "9223372036854775807"} {
		if r := succeed(t, "events", "--limit", limit, "--type", "pet.created"); !strings.Contains(r.stdout, "name Leo") || strings.Contains(r.stdout, "Mia") {
			t.Errorf("events --limit %s: got %v, want the event of Leo and none of Mia", limit, r)
		}
	}
	expectRefusal(t, animalstore(t, "events", "--after", undone), exitRefused, "were undone", "continue after ")
}

// This test needs a process, because the terminal sends the signal to one.
func TestEventsCommandOnTerminalStopsOnCtrlC(t *testing.T) {
	newFolderWithKey(t)
	s := serve(t)
	s.useForCommands()
	s.addPet("Rex")
	command := exec.Command("animalstore", "events", "--follow", "--all")
	keyboard, err := pty.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	screen, ended := &transcript{changed: make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(screen, keyboard) // returns an error when the program exits
	}()
	awaitText(t, screen, ended, "Waiting for events; press Ctrl-C to stop.")
	awaitText(t, screen, ended, "name Rex, categoryId 1")
	if _, err := keyboard.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	<-ended
	if err := command.Wait(); err != nil {
		t.Errorf("after Ctrl-C: got %v, want exit code 0; the terminal shows %q", err, screen)
	}
}
