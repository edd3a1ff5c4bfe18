package e2e

import (
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A secret as it is issued.
var (
	liveKey = regexp.MustCompile(`\bask_live_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\b`)
	testKey = regexp.MustCompile(`\bask_test_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\b`)
)

// serveOnTerminal starts the service as somebody at a keyboard does.
func (f *folder) serveOnTerminal(args ...string) *program {
	f.t.Helper()
	command := f.serveCommand(args...)
	terminal, err := pty.Start(command)
	if err != nil {
		f.t.Fatal(err)
	}
	output := &transcript{}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(output, terminal) // ends with an error when the program has ended
	}()
	f.t.Cleanup(func() {
		terminal.Close()
		<-copied
	})
	p := f.watch(command, output)
	p.awaitReady()
	return p
}

// TestFirstStartOnTerminalShowsWorkingKey takes what the first start shows at its word.
func TestFirstStartOnTerminalShowsWorkingKey(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatalf("this test runs the line that new users are shown, and needs curl for that: %v", err)
	}
	for environment, pattern := range map[string]*regexp.Regexp{"production": liveKey, "staging": testKey} {
		t.Run(environment, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			p := f.serveOnTerminal("--environment", environment)
			p.awaitOutput("the curl line", func(output string) bool { return strings.Contains(output, "/v1/pets\r\n") })

			var keys, commands []string
			for line := range strings.Lines(p.output.String()) {
				line = strings.TrimSpace(line)
				if pattern.FindString(line) == line && line != "" {
					keys = append(keys, line)
				}
				if strings.HasPrefix(line, "curl ") {
					commands = append(commands, line)
				}
			}
			if len(keys) != 1 || len(commands) != 1 {
				t.Fatalf("got the keys %q and the commands %q, want one of each", keys, commands)
			}
			if r := f.shell(commands[0]); r.code != 0 || r.stdout != "[]\n" {
				t.Errorf("%s: %+v", commands[0], r)
			}
			expectStatus(t, p.send("GET", "/metrics", keys[0], ""), 200) // it may do everything

			p.stop()
			second := f.serveOnTerminal("--environment", environment)
			if output := second.output.String(); strings.Contains(output, "ask_") || strings.Contains(output, "curl") {
				t.Error("the second start shows a key")
			}
			expectStatus(t, second.send("GET", "/v1/pets", keys[0], ""), 200)
		})
	}
}

// TestFirstStartElsewhere: what would end up in a log is not shown, and not made.
func TestFirstStartWithoutTerminalCreatesNoKey(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	const how = "animalstore keys create"
	p.awaitOutput("how to make a key", func(output string) bool { return strings.Contains(output, how) })
	if n := strings.Count(p.output.String(), how); n != 1 {
		t.Errorf("the log says %d times how to make a key", n)
	}
	if strings.Contains(p.output.String(), "ask_") {
		t.Error("the log shows a key")
	}
	if id := f.nextKeyID(); id != "1" {
		t.Errorf("the first key that is made has the id %s", id)
	}
	p.stop()
	second := f.serve()
	second.stop() // now all that it wrote has arrived
	if strings.Contains(second.output.String(), "keys create") {
		t.Error("the second start tells how to make a key, though there is one")
	}
}

// TestFirstStartWithConfiguredKey: whoever brings a key needs none.
func TestFirstStartWithConfiguredKeyCreatesNoKey(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serveOnTerminal()
	if output := p.output.String(); strings.Contains(output, "ask_") || strings.Contains(output, "keys create") {
		t.Error("the start speaks of a key")
	}
	p.get("/v1/pets")
	if id := f.nextKeyID(); id != "1" {
		t.Errorf("the first key that is made has the id %s", id)
	}
}

var createdKey = regexp.MustCompile(`^Created key ([0-9]+) `)

// nextKeyID makes a key and returns its id. Ids are given in order, so 1 tells that there was none before.
func (f *folder) nextKeyID() string {
	f.t.Helper()
	r := f.run("keys", "create", "--name", "next")
	match := createdKey.FindStringSubmatch(r.stderr)
	if match == nil {
		f.t.Fatalf("no key was made: %+v", r)
	}
	return match[1]
}
