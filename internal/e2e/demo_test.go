package e2e

import (
	"net"
	"strings"
	"testing"
)

// TestDemoStartsFilledAndRestartsUnchanged starts the demo on a terminal, runs the curl command that it
// prints, and then restarts it.
func TestDemoStartsFilledAndRestartsUnchanged(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, database string) {
		f := newFolder(t)
		f.variables = append(f.variables, "ANIMALSTORE_DATABASE="+database)
		p := f.serveOnTerminal("--demo")
		p.awaitOutput("the curl line", func(output string) bool { return strings.Contains(output, "/v1/pets\r\n") })
		output := p.output.String()
		if !strings.Contains(output, "This is a demo: a shop with ") {
			t.Error("the output does not say that this is a demo")
		}
		_, line, _ := strings.Cut(output, "    curl ")
		line, _, _ = strings.Cut(line, "\r\n")
		if r := f.shell("curl -sS " + line); r.code != 0 || strings.Count(r.stdout, `"name":`) != 20 {
			t.Errorf("curl %s: got %v, want exit code 0 and 20 animals", line, r)
		}
		key := liveKey.FindString(output)
		expectStatus(t, p.send("GET", "/metrics", key, ""), 200) // /metrics requires the scope admin
		if r := f.run("check"); r.code != 0 {
			t.Errorf("check: got %v, want exit code 0", r)
		}
		const inventory, last = "/v1/store/inventory", "/v1/events?limit=1&type=key.created&after=20"
		before := p.send("GET", inventory, key, "").body + p.send("GET", last, key, "").body
		p.stop()

		second := f.serveOnTerminal("--demo")
		if got := second.send("GET", inventory, key, "").body + second.send("GET", last, key, "").body; got != before {
			t.Errorf("after the second start: got %s, want %s", got, before)
		}
		second.stop()
		if output := second.output.String(); strings.Contains(output, "ask_") || !strings.Contains(output, "animals_added=0") {
			t.Errorf("output of the second start: got %s, want no key and animals_added=0", output)
		}
	})
}

// TestDemoWithoutTerminalShowsNoKey checks that the log explains how to create a key but does not contain any
// of the demo's keys.
func TestDemoWithoutTerminalShowsNoKey(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve("--demo")
	p.awaitOutput("how to create a key", func(output string) bool { return strings.Contains(output, "animalstore keys create") })
	if strings.Contains(p.output.String(), "ask_") {
		t.Error("the log contains a key")
	}
	p.stop()
	second := f.serve("--demo")
	second.awaitOutput("how to create a key, again", func(output string) bool { return strings.Contains(output, "animalstore keys create") })
	expectStatus(t, second.send("GET", "/v1/pets", f.createKey("--name", "me"), ""), 200)
}

// TestDemoShowsKeyAfterFailedListen first makes the demo fail to listen after it has filled the store. No key
// has been shown by then, so the next start must show one.
func TestDemoShowsKeyAfterFailedListen(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	f := newFolder(t)
	if r := f.run("serve", "--demo", "--addr", taken.Addr().String()); r.code != 1 || !strings.Contains(r.stderr, "cannot listen") {
		t.Errorf("serve on a port in use: got %v, want exit code 1 and %q", r, "cannot listen")
	}
	p := f.serveOnTerminal("--demo")
	p.awaitOutput("the curl line", func(output string) bool { return strings.Contains(output, "/v1/pets\r\n") })
	expectStatus(t, p.send("GET", "/metrics", liveKey.FindString(p.output.String()), ""), 200)
}

// TestDemoRefusesNonEmptyDatabase checks that demo data is never added to a database that contains other
// data.
func TestDemoRefusesNonEmptyDatabase(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, database string) {
		f := newFolderWithKey(t)
		f.variables = append(f.variables, "ANIMALSTORE_DATABASE="+database)
		p := f.serve()
		p.create(pet{Name: "Rex"})
		p.stop()
		expectRefusal(t, f.run("serve", "--addr", "127.0.0.1:0", "--demo"), 1, "--demo needs an empty database", "it already has", "--database")
		if got := f.serve().walk(); len(got) != 1 || got[0].Name != "Rex" {
			t.Errorf("animals: got %+v, want only Rex", got)
		}
	})
}
