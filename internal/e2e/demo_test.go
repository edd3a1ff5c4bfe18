package e2e

import (
	"net"
	"strings"
	"testing"
)

// TestDemoStartsFilledAndRestartsUnchanged starts the demo as a newcomer does, takes what it shows at its word, and starts it again.
func TestDemoStartsFilledAndRestartsUnchanged(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, database string) {
		f := newFolder(t)
		f.variables = append(f.variables, "ANIMALSTORE_DATABASE="+database)
		p := f.serveOnTerminal("--demo")
		p.awaitOutput("the curl line", func(output string) bool { return strings.Contains(output, "/v1/pets\r\n") })
		output := p.output.String()
		if !strings.Contains(output, "This is a demo: a shop with ") {
			t.Error("it does not say that it is a demo")
		}
		_, line, _ := strings.Cut(output, "    curl ")
		line, _, _ = strings.Cut(line, "\r\n")
		if r := f.shell("curl -sS " + line); r.code != 0 || strings.Count(r.stdout, `"name":`) != 20 {
			t.Errorf("curl %s: %+v", line, r)
		}
		key := liveKey.FindString(output)
		expectStatus(t, p.send("GET", "/metrics", key, ""), 200) // it may do everything
		if r := f.run("check"); r.code != 0 {
			t.Errorf("%+v", r)
		}
		const inventory, last = "/v1/store/inventory", "/v1/events?limit=1&type=key.created&after=20"
		before := p.send("GET", inventory, key, "").body + p.send("GET", last, key, "").body
		p.stop()

		second := f.serveOnTerminal("--demo")
		if got := second.send("GET", inventory, key, "").body + second.send("GET", last, key, "").body; got != before {
			t.Errorf("the second start changed %s to %s", before, got)
		}
		second.stop()
		if output := second.output.String(); strings.Contains(output, "ask_") || !strings.Contains(output, "animals_added=0") {
			t.Errorf("the second start says %s", output)
		}
	})
}

// TestDemoElsewhere: without a terminal it says how to make a key, although those of the demo are there.
func TestDemoWithoutTerminalShowsNoKey(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.serve("--demo")
	p.awaitOutput("how to make a key", func(output string) bool { return strings.Contains(output, "animalstore keys create") })
	if strings.Contains(p.output.String(), "ask_") {
		t.Error("the log shows a key")
	}
	p.stop()
	second := f.serve("--demo")
	second.awaitOutput("how to make a key, again", func(output string) bool { return strings.Contains(output, "animalstore keys create") })
	expectStatus(t, second.send("GET", "/v1/pets", f.createKey("--name", "me"), ""), 200)
}

// TestDemoFoundNoPlace: a start that fills the store, and then cannot listen, has shown no key. The next one does.
func TestDemoShowsKeyAfterFailedListen(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	f := newFolder(t)
	if r := f.run("serve", "--demo", "--addr", taken.Addr().String()); r.code != 1 || !strings.Contains(r.stderr, "cannot listen") {
		t.Errorf("%+v", r)
	}
	p := f.serveOnTerminal("--demo")
	p.awaitOutput("the curl line", func(output string) bool { return strings.Contains(output, "/v1/pets\r\n") })
	expectStatus(t, p.send("GET", "/metrics", liveKey.FindString(p.output.String()), ""), 200)
}

// TestDemoRefused: what somebody has entered is never mixed with what is made up.
func TestDemoRefusesNonEmptyDatabase(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, database string) {
		f := newFolderWithKey(t)
		f.variables = append(f.variables, "ANIMALSTORE_DATABASE="+database)
		p := f.serve()
		p.create(pet{Name: "Rex"})
		p.stop()
		expectRefusal(t, f.run("serve", "--addr", "127.0.0.1:0", "--demo"), 1, "--demo fills an empty database only", "it already has", "--database")
		if got := f.serve().walk(); len(got) != 1 || got[0].Name != "Rex" {
			t.Errorf("the store has %d animals", len(got))
		}
	})
}
