package golden

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

var (
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	sampleLine = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// parseMetrics parses the text that /metrics returns. types maps the name of each metric to its type. labels maps the
// name of each time series to its sets of labels.
func parseMetrics(text string) (types map[string]string, labels map[string][]map[string]string) {
	types, labels = map[string]string{}, map[string][]map[string]string{}
	for _, line := range typeLine.FindAllStringSubmatch(text, -1) {
		types[line[1]] = line[2]
	}
	for _, line := range sampleLine.FindAllStringSubmatch(text, -1) {
		series := map[string]string{}
		for _, pair := range labelPair.FindAllStringSubmatch(line[2], -1) {
			series[pair[1]] = pair[2]
		}
		labels[line[1]] = append(labels[line[1]], series)
	}
	return types, labels
}

// TestMetrics compares the names, types and labels of all metrics with a golden file.
func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			flags := []string{"--webhook-allow-private"}
			if engine.name == "sqlite" {
				flags = append(flags, "--backup-dir", t.TempDir())
			}
			s := newSession(t, engine, area{flags: flags})
			r := newReceiver(s)
			s.do(fmt.Sprintf(`POST webhooks {"url":"%s/hook","types":["pet.created"]}`, r.URL),
				`POST pets {"name":"Rex","categoryId":1,"status":"available"}`)
			waitForDeliveries(s, "webhooks/1", 1)
			s.do("GET pets/1", `POST store/orders {"petId":1}`)
			s.stream("events?after=0", 1, nil)
			s.do("GET nothing")
			types, labels := parseMetrics(s.do("GET /metrics").body)
			var lines strings.Builder
			for _, name := range slices.Sorted(maps.Keys(types)) {
				names := map[string]bool{}
				for _, series := range slices.Concat(labels[name], labels[name+"_bucket"], labels[name+"_sum"], labels[name+"_count"]) {
					for label := range series {
						names[label] = true
					}
				}
				fmt.Fprintf(&lines, "%s %s {%s}\n", name, types[name], strings.Join(slices.Sorted(maps.Keys(names)), ", "))
			}
			check(t, "metrics-"+engine.name+".txt", lines.String(), *update)
		})
	}
}

var (
	selector  = regexp.MustCompile(`\b((?:animalstore|process|go|promhttp)_[a-z_]+|up)\b(?:\{([^}]*)\})?`)
	matcher   = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping  = regexp.MustCompile(`\b(?:by|on|without|ignoring)\s*\(([^)]*)\)`)
	mentioned = regexp.MustCompile(`\$labels\.([a-z_]+)`)
)

// existingMetrics starts a service on each engine, one of them with TLS and scheduled backups. The result maps the name
// of each time series that these services export to its sets of labels. existingMetrics fails the test if a metric has
// no help text.
func existingMetrics(t *testing.T) map[string][]map[string]string {
	t.Helper()
	existing := map[string][]map[string]string{"up": {{"job": "animalstore", "instance": ""}}}
	for _, p := range []*programtest.Program{
		programtest.NewFolderWithKey(t, "ANIMALSTORE_BACKUP_DIR="+t.TempDir()).ServeTLS(programtest.NewAuthority(t)),
		programtest.NewFolderWithKey(t).Serve("--database", pgtest.Shared(t).NewDatabase(t)),
	} {
		created, _ := p.Create(programtest.Pet{Name: "Rex"})
		p.Get(fmt.Sprintf("/v1/pets/%d", created.ID))
		text := p.Get("/metrics").Body
		types, labels := parseMetrics(text)
		for name, all := range labels {
			for _, series := range all {
				series["job"], series["instance"] = "animalstore", p.URL // Prometheus adds these labels
				existing[name] = append(existing[name], series)
			}
		}
		for name := range types {
			if !strings.Contains(text, "# HELP "+name+" ") {
				t.Errorf("%s has no help text", name)
			}
		}
	}
	return existing
}

// checkExpression checks that every metric, label and label value in a PromQL expression exists, and that the selected
// metrics have all labels in used. name identifies the expression in error messages.
func checkExpression(t *testing.T, name, expression string, existing map[string][]map[string]string, used []string) {
	t.Helper()
	found := selector.FindAllStringSubmatch(expression, -1)
	if len(found) == 0 {
		t.Errorf("%s selects no metric: %s", name, expression)
	}
	labels := map[string]bool{} // the label names of all selected metrics
	for _, s := range found {
		candidates := existing[s[1]]
		if len(candidates) == 0 {
			t.Errorf("%s selects the metric %s, which does not exist", name, s[1])
			continue
		}
		for label := range candidates[0] {
			labels[label] = true
		}
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			checkMatcher(t, name, candidates, m[1], m[2], m[3])
		}
	}
	for _, list := range grouping.FindAllStringSubmatch(expression, -1) {
		for label := range strings.SplitSeq(list[1], ",") {
			used = append(used, strings.TrimSpace(label))
		}
	}
	for _, label := range used {
		if !labels[label] {
			t.Errorf("%s uses the label %s, but no metric that it selects has this label: %s", name, label, expression)
		}
	}
}

// submatches returns the first group of every match in a text.
func submatches(pattern *regexp.Regexp, text string) (found []string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// alertRule is a rule in docs/alerts.yaml.
type alertRule struct {
	Alert, Expr string
	Annotations struct{ Summary string }
	Labels      struct{ Severity string }
}

// readAlerts returns the rules in docs/alerts.yaml.
func readAlerts(t *testing.T) []alertRule {
	t.Helper()
	docs := programtest.Folder{T: t, Dir: "../../docs"}
	var file struct{ Groups []struct{ Rules []alertRule } }
	shoptest.OK(t, yaml.Unmarshal([]byte(docs.Read("alerts.yaml")), &file))
	return file.Groups[0].Rules
}

// TestAlertsUseExistingMetricsAndLabels checks that every metric, label and label value used in
// docs/alerts.yaml exists, that operating.md explains every alert, and that every metric has a help text.
func TestAlertsUseExistingMetricsAndLabels(t *testing.T) {
	t.Parallel()
	docs := programtest.Folder{T: t, Dir: "../../docs"}
	manual, rules := docs.Read("operating.md"), readAlerts(t)
	if len(rules) < 15 {
		t.Errorf("got %d rules, want at least 15", len(rules))
	}
	existing := existingMetrics(t)
	for _, rule := range rules {
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels.Severity) || rule.Annotations.Summary == "" {
			t.Errorf("%s: got severity %q and summary %q, want a known severity and a summary",
				rule.Alert, rule.Labels.Severity, rule.Annotations.Summary)
		}
		if !strings.Contains(manual, "`"+rule.Alert+"`") {
			t.Errorf("%s is not documented in docs/operating.md", rule.Alert)
		}
		checkExpression(t, rule.Alert, rule.Expr, existing, submatches(mentioned, rule.Annotations.Summary))
	}
}

// checkMatcher checks that, for each value in a label matcher of an expression, at least one candidate has the label
// with this value. Two labels may have any value: status, because no request fails in this test, and operation if the
// matcher excludes values.
func checkMatcher(t *testing.T, name string, candidates []map[string]string, label, operator, wanted string) {
	t.Helper()
	if strings.HasPrefix(wanted, "$") { // a dashboard variable can have any value
		wanted, operator = ".*", "=~"
	}
	values := []string{wanted}
	if strings.HasSuffix(operator, "~") {
		values = strings.Split(wanted, "|")
	}
	for _, value := range values {
		whole, err := regexp.Compile("^(?:" + value + ")$")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.ContainsFunc(candidates, func(labels map[string]string) bool {
			got, has := labels[label]
			return has && (whole.MatchString(got) || label == "status" || label == "operation" && operator == "!~")
		}) {
			t.Errorf("%s matches %s%s%q, but no series has that value", name, label, operator, value)
		}
	}
}
