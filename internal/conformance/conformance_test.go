// Package conformance runs Schemathesis, a public tool, against the running service. The tool generates valid and
// invalid requests from the OpenAPI document, follows resources through several operations, and compares each
// response with the document. An ordinary run of the tests does not start the tool. This command does:
//
//	make conformance
package conformance

import (
	"bytes"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"animalstore/api/apitest"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

var (
	schemathesis = flag.String("schemathesis", "", "path of the Schemathesis command; empty runs nothing")
	seeds        = flag.String("seeds", "1 2 3", "seeds of the generated requests, separated by spaces")
)

const (
	minCases    = 10_000 // the minimum number of requests for each seed; with fewer, the tool has stopped too early
	minStateful = 500    // the minimum number of requests in stateful sequences for each store and key
	maxRuns     = 20     // the maximum number of additional runs to reach minStateful
)

func TestMain(m *testing.M) { programtest.Main(m) }

// TestConformance runs the tool with each seed, on an empty store and on one with sample data, and with each kind of
// API key. One of the two stores is in PostgreSQL: the second one with the first seed, the first one with the next seed, and
// so on. It prints a table and fails if the tool reports a problem.
func TestConformance(t *testing.T) {
	if *schemathesis == "" {
		t.Skip("runs by hand: make conformance")
	}
	var reports []report
	for i, seed := range strings.Fields(*seeds) {
		t.Run("seed "+seed, func(t *testing.T) {
			cases := 0
			for j, store := range []string{"empty", "demo"} {
				t.Run(store, func(t *testing.T) {
					for _, r := range testStore(t, seed, store, (i+j)%2 == 1) {
						reports, cases = append(reports, r), cases+r.cases()
					}
				})
			}
			if cases < minCases {
				t.Errorf("the seed generated %d requests, want at least %d", cases, minCases)
			}
		})
	}
	fmt.Print(table(reports))
}

// testStore runs the tool on a new store: without a key, with a key that may only read, and with the configured admin
// key. The run with the admin key must be the last one, because it changes the store and revokes keys. The configured
// key itself cannot be revoked.
func testStore(t *testing.T, seed, store string, postgres bool) (reports []report) {
	f := programtest.NewFolderWithKey(t)
	if postgres {
		f = programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+pgtest.Shared(t).NewDatabase(t))
		store += " (PostgreSQL)"
	}
	p := f.Serve(fmt.Sprintf("--demo=%t", strings.HasPrefix(store, "demo")))
	reader := f.CreateKey("--name", "reader", "--scope", "pets:read", "--scope", "orders:read", "--scope", "events:read")
	for _, key := range []struct{ name, secret string }{{"none", ""}, {"reader", reader}, {"admin", programtest.AdminKey}} {
		r := runTool(t, p, seed, key.secret)
		r.seed, r.store, r.key = seed, store, key.name
		// The tool ends its last phase early, and successfully, if a change in the store keeps it from repeating a sequence:
		// https://github.com/schemathesis/schemathesis/pull/4216
		for n := 1; n <= maxRuns && r.byPhase["stateful"] < minStateful; n++ {
			r.add(runTool(t, p, fmt.Sprintf("%s%03d", seed, n), key.secret, "--phases", "stateful"))
		}
		reports = append(reports, r)
	}
	checkWebhooks(t, p)
	p.Output.Trim() // drop the log of thousands of requests
	return reports
}

// runTool runs the tool and reads its report. It prints the tool's output if the tool reports a problem.
func runTool(t *testing.T, p *programtest.Program, seed, key string, options ...string) report {
	t.Helper()
	path := t.TempDir() + "/report.ndjson"
	args := []string{"--config-file", "schemathesis.toml", "run", p.URL + "/v1/openapi.json", "--checks", "all", "--seed", seed,
		"--no-color", "--report", "ndjson", "--report-ndjson-path", path}
	args = append(args, options...)
	if key != "" {
		args = append(args, "--header", "Authorization: Bearer "+key)
	}
	command := exec.Command(*schemathesis, args...)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1", "no_proxy=*", "EXAMPLE_IMAGES="+writeImages(t))
	output, err := command.CombinedOutput()
	r := report{}
	if file, openErr := os.ReadFile(path); openErr != nil {
		t.Errorf("no report: %v", openErr)
	} else if readErr := r.read(bytes.NewReader(file)); readErr != nil {
		t.Errorf("cannot read the report: %v", readErr)
	}
	if err != nil || r.findings > 0 {
		t.Errorf("Schemathesis: %v, %d findings\n%s", err, r.findings, output)
	}
	return r
}

// writeImages writes the images that the document names as examples into a folder, from which hooks.py sends them.
func writeImages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range shoptest.Must(apitest.ExampleImages())(t) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkWebhooks checks that every webhook had a URL on this machine, so that no message was sent to another machine.
// The tool's hooks.py is meant to ensure that.
func checkWebhooks(t *testing.T, p *programtest.Program) {
	t.Helper()
	type event struct {
		Data struct{ Current struct{ URL string } }
	}
	events := programtest.Pages[event](p, "/v1/events?limit=100&type=webhook.created&type=webhook.updated")
	for _, e := range events {
		if u, err := url.Parse(e.Data.Current.URL); err != nil || u.Hostname() != "127.0.0.1" {
			t.Errorf("there was a webhook for %q, want only ones for 127.0.0.1", e.Data.Current.URL)
		}
	}
	if len(events) == 0 {
		t.Error("the tool created no webhooks")
	}
}
