package e2e

import (
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// These patterns match keys for production and for staging.
var (
	liveKey = regexp.MustCompile(`\bask_live_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\b`)
	testKey = regexp.MustCompile(`\bask_test_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}\b`)
)

// serveOnTerminal starts the service with a pseudoterminal as its stdin, stdout and stderr.
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
		io.Copy(output, terminal) // io.Copy returns an error when the program exits
	}()
	f.t.Cleanup(func() {
		terminal.Close()
		<-copied
	})
	p := f.watch(command, output)
	p.awaitReady()
	return p
}

// TestFirstStartOnTerminalShowsWorkingKey runs the curl command that the service prints when it is first
// started.
func TestFirstStartOnTerminalShowsWorkingKey(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatalf("this test runs the curl command that new users see, and needs curl: %v", err)
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
				t.Fatalf("got keys %q and commands %q, want one of each", keys, commands)
			}
			if r := f.shell(commands[0]); r.code != 0 || r.stdout != "[]\n" {
				t.Errorf("%s: got %v, want exit code 0 and an empty list", commands[0], r)
			}
			expectStatus(t, p.send("GET", "/metrics", keys[0], ""), 200) // /metrics requires the scope admin

			p.stop()
			second := f.serveOnTerminal("--environment", environment)
			if output := second.output.String(); strings.Contains(output, "ask_") || strings.Contains(output, "curl") {
				t.Error("the second start shows a key or a curl command")
			}
			expectStatus(t, second.send("GET", "/v1/pets", keys[0], ""), 200)
		})
	}
}

// TestFirstStartWithoutTerminalCreatesNoKey checks that the service does not write a new key to a log file.
// The log must only explain how to create a key.
func TestFirstStartWithoutTerminalCreatesNoKey(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve()
	const how = "animalstore keys create"
	p.awaitOutput("how to create a key", func(output string) bool { return strings.Contains(output, how) })
	if n := strings.Count(p.output.String(), how); n != 1 {
		t.Errorf("hints how to create a key: got %d, want 1", n)
	}
	if strings.Contains(p.output.String(), "ask_") {
		t.Error("the log contains a key")
	}
	if id := f.nextKeyID(); id != "1" {
		t.Errorf("id of the first created key: got %s, want 1", id)
	}
	p.stop()
	second := f.serve()
	second.stop() // wait until all output has arrived
	if strings.Contains(second.output.String(), "keys create") {
		t.Error("the second start says how to create a key, although one exists")
	}
}

// TestFirstStartWithConfiguredKeyCreatesNoKey checks that the service creates no key if the operator has
// configured one.
func TestFirstStartWithConfiguredKeyCreatesNoKey(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serveOnTerminal()
	if output := p.output.String(); strings.Contains(output, "ask_") || strings.Contains(output, "keys create") {
		t.Error("the output contains a key or says how to create one")
	}
	p.get("/v1/pets")
	if id := f.nextKeyID(); id != "1" {
		t.Errorf("id of the first created key: got %s, want 1", id)
	}
}

var createdKey = regexp.MustCompile(`^Created key ([0-9]+) `)

// nextKeyID creates a key and returns its ID. IDs are assigned in ascending order, so the ID 1 means that no
// key existed before.
func (f *folder) nextKeyID() string {
	f.t.Helper()
	r := f.run("keys", "create", "--name", "next")
	match := createdKey.FindStringSubmatch(r.stderr)
	if match == nil {
		f.t.Fatalf("keys create: got %v, want the id of the new key", r)
	}
	return match[1]
}
