package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"text/tabwriter"
)

// phases lists the tool's phases in the order in which they run.
var phases = []string{"examples", "coverage", "fuzzing", "stateful"}

// report is the result of one run of the tool.
type report struct {
	seed, store, key string
	byPhase          map[string]int // the number of requests in each phase
	findings         int            // the number of failed checks and errors
}

func (r report) cases() (n int) {
	for _, cases := range r.byPhase {
		n += cases
	}
	return n
}

// add adds the requests and findings of another report.
func (r *report) add(other report) {
	r.findings += other.findings
	for phase, cases := range other.byPhase {
		r.byPhase[phase] += cases
	}
}

// read counts the requests and findings in the tool's event log.
func (r *report) read(log io.Reader) error {
	r.byPhase = map[string]int{}
	for decoder := json.NewDecoder(log); ; {
		var event struct {
			ScenarioFinished struct {
				Phase    string
				Recorder struct {
					Cases  map[string]struct{}
					Checks map[string][]struct{ Status string }
				}
			}
			NonFatalError, FatalError *struct{}
		}
		if err := decoder.Decode(&event); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if event.NonFatalError != nil || event.FatalError != nil {
			r.findings++
		}
		s := event.ScenarioFinished
		r.byPhase[s.Phase] += len(s.Recorder.Cases)
		for _, checks := range s.Recorder.Checks {
			for _, check := range checks {
				if check.Status != "success" {
					r.findings++
				}
			}
		}
	}
}

// table returns a table with the number of requests in each run and phase, and the totals.
func table(reports []report) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "seed\tstore\tkey\t%s\tcases\tfindings\t\n", strings.Join(phases, "\t"))
	sum := report{seed: "all", byPhase: map[string]int{}}
	for _, r := range reports {
		writeRow(w, r)
		sum.add(r)
	}
	writeRow(w, sum)
	w.Flush() // writing to memory cannot fail
	return b.String()
}

func writeRow(w io.Writer, r report) {
	fmt.Fprintf(w, "%s\t%s\t%s\t", r.seed, r.store, r.key)
	for _, phase := range phases {
		fmt.Fprintf(w, "%d\t", r.byPhase[phase])
	}
	fmt.Fprintf(w, "%d\t%d\t\n", r.cases(), r.findings)
}

func TestReportCountsRequestsAndFindings(t *testing.T) {
	var r report
	err := r.read(strings.NewReader(`{"Initialize":{"seed":1}}
{"ScenarioFinished":{"phase":"coverage","recorder":{"label":"GET /pets","cases":{"a":{},"b":{}},"checks":{"a":[{"status":"success"},{"status":"failure"}]}}}}
{"ScenarioFinished":{"phase":"stateful","recorder":{"label":"Stateful tests","cases":{"c":{}},"checks":{"c":[{"status":"success"}]}}}}
{"ScenarioFinished":{"phase":"stateful","recorder":{"label":"skipped"}}}
{"NonFatalError":{"label":"POST /imports"}}
`))
	r.seed, r.store, r.key = "7", "demo", "admin"
	want := `  seed  store    key  examples  coverage  fuzzing  stateful  cases  findings
     7   demo  admin         0         2        0         1      3         2
   all                       0         2        0         1      3         2
`
	if got := table([]report{r}); err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if err := r.read(strings.NewReader(`{"ScenarioFinished":`)); err == nil {
		t.Error("a truncated log was accepted")
	}
}
