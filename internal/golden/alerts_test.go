package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// series is one time series in /metrics, identified by a metric name and its labels.
type series struct {
	name   string
	labels map[string]string
}

var (
	seriesLine = regexp.MustCompile(`(?m)^([a-z_:]+)(?:\{(.*)\})? \S+$`)
	seriesPair = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
)

// scrape sends a few requests to the service and then returns every time series in /metrics. Each metric must
// have a help text.
func scrape(p *programtest.Program) (all []series) {
	p.T.Helper()
	created, _ := p.Create(programtest.Pet{Name: "Rex"})
	p.Get(fmt.Sprintf("/v1/pets/%d", created.ID))
	text := p.Get("/metrics").Body
	for _, line := range seriesLine.FindAllStringSubmatch(text, -1) {
		// Prometheus adds the labels job and instance.
		labels := map[string]string{"job": "animalstore", "instance": p.URL}
		for _, pair := range seriesPair.FindAllStringSubmatch(line[2], -1) {
			labels[pair[1]] = pair[2]
		}
		all = append(all, series{line[1], labels})
	}
	for _, name := range typeLine.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "# HELP "+name[1]+" ") {
			p.T.Errorf("%s has no help text", name[1])
		}
	}
	return all
}

var (
	selector  = regexp.MustCompile(`\b((?:animalstore|process|go|promhttp)_[a-z_]+|up)\b(?:\{([^}]*)\})?`)
	matcher   = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping  = regexp.MustCompile(`\b(?:by|on|without|ignoring)\s*\(([^)]*)\)`)
	mentioned = regexp.MustCompile(`\$labels\.([a-z_]+)`)
)

// TestAlertsUseExistingMetricsAndLabels checks that every metric, label and label value used in
// docs/alerts.yaml exists.
func TestAlertsUseExistingMetricsAndLabels(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct{ Summary string }
				Labels      struct{ Severity string }
			}
		}
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	existing := []series{{"up", map[string]string{"job": "animalstore", "instance": ""}}}
	existing = append(existing, scrape(programtest.NewFolderWithKey(t).ServeTLS(programtest.NewAuthority(t)))...)
	existing = append(existing, scrape(programtest.NewFolderWithKey(t).Serve("--database", pgtest.Shared(t).NewDatabase(t)))...)

	rules := file.Groups[0].Rules
	if len(rules) < 15 {
		t.Errorf("got %d rules, want at least 15", len(rules))
	}
	for _, rule := range rules {
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels.Severity) || rule.Annotations.Summary == "" {
			t.Errorf("%s: got severity %q and summary %q, want a known severity and a summary", rule.Alert, rule.Labels.Severity, rule.Annotations.Summary)
		}
		if !strings.Contains(string(manual), "`"+rule.Alert+"`") {
			t.Errorf("%s is not documented in docs/operating.md", rule.Alert)
		}
		found := selector.FindAllStringSubmatch(rule.Expr, -1)
		if len(found) == 0 {
			t.Errorf("%s selects no metric: %s", rule.Alert, rule.Expr)
		}
		var labels []string // the label names of all selected metrics
		for _, s := range found {
			candidates := slices.DeleteFunc(slices.Clone(existing), func(one series) bool { return one.name != s[1] })
			if len(candidates) == 0 {
				t.Errorf("%s selects the metric %s, which does not exist", rule.Alert, s[1])
				continue
			}
			for name := range candidates[0].labels {
				labels = append(labels, name)
			}
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				checkMatcher(t, rule.Alert, candidates, m[1], m[2], m[3])
			}
		}
		for _, list := range grouping.FindAllStringSubmatch(rule.Expr, -1) {
			for name := range strings.SplitSeq(list[1], ",") {
				if !slices.Contains(labels, strings.TrimSpace(name)) {
					t.Errorf("%s groups by the label %s, which does not exist", rule.Alert, name)
				}
			}
		}
		for _, name := range mentioned.FindAllStringSubmatch(rule.Annotations.Summary, -1) {
			if !slices.Contains(labels, name[1]) {
				t.Errorf("the summary of %s uses the label %s, which does not exist", rule.Alert, name[1])
			}
		}
	}
}

// checkMatcher checks that, for each value that the alert matches, at least one candidate has the label with
// this value. The label status may have any value, because no request fails in this test.
func checkMatcher(t *testing.T, alert string, candidates []series, label, operator, wanted string) {
	t.Helper()
	values := []string{wanted}
	if strings.HasSuffix(operator, "~") {
		values = strings.Split(wanted, "|")
	}
	for _, value := range values {
		whole, err := regexp.Compile("^(?:" + value + ")$")
		if err != nil {
			t.Errorf("%s: %v", alert, err)
			continue
		}
		known := slices.ContainsFunc(candidates, func(one series) bool {
			got, has := one.labels[label]
			return has && (whole.MatchString(got) || label == "status" || label == "operation" && operator == "!~")
		})
		if !known {
			t.Errorf("%s matches %s%s%q, but no series has that value", alert, label, operator, value)
		}
	}
}
