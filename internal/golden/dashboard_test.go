package golden

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// dashboard is the part of Grafana's classic dashboard model that the test checks in docs/dashboard.json.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Datasource               struct{ Type, UID string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
}

// overlaps reports whether two panels share a part of the grid.
func (p panel) overlaps(q panel) bool {
	a, b := p.GridPos, q.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

var legendLabel = regexp.MustCompile(`{{([a-z_]+)}}`)

// readDashboard returns the dashboard in docs/dashboard.json.
func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	docs := programtest.Folder{T: t, Dir: "../../docs"}
	shoptest.OK(t, json.Unmarshal([]byte(docs.Read("dashboard.json")), &d))
	return d
}

// TestCertificateIsRedWhenItsAlertFires checks the two queries of the dashboard panel for certificates. The query that
// is shown in red must be the expression of the alert. The other query must select all other certificates.
func TestCertificateIsRedWhenItsAlertFires(t *testing.T) {
	t.Parallel()
	rules, panels := readAlerts(t), readDashboard(t).Panels
	rule := rules[slices.IndexFunc(rules, func(r alertRule) bool { return r.Alert == "AnimalstoreCertificateExpires" })]
	targets := panels[slices.IndexFunc(panels, func(p panel) bool { return p.Title == "Certificate expires in" })].Targets
	red := strings.Join(strings.Fields(rule.Expr), " ")
	for i, want := range []string{strings.Replace(red, " < ", " >= ", 1), red} {
		got := strings.ReplaceAll(targets[i].Expr, `{job="animalstore", instance=~"$instance"}`, "")
		if got != want {
			t.Errorf("query %s: got %s, want %s", targets[i].RefID, got, want)
		}
	}
}

// TestDashboardUsesExistingMetricsAndLabels checks that every metric, label and label value used in
// docs/dashboard.json exists, and that Grafana can show every panel.
func TestDashboardUsesExistingMetricsAndLabels(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	const classicModel = 39 // schema version of a dashboard file; Grafana 11 and newer import dashboards of this version as they are
	if d.UID == "" || d.Title == "" || d.SchemaVersion < classicModel || len(d.Templating.List) != 2 {
		t.Errorf("got %q, %q, schema %d and %v, want a uid, a title, schema %d or newer, and two variables",
			d.UID, d.Title, d.SchemaVersion, d.Templating.List, classicModel)
	}
	existing := existingMetrics(t)
	var rows []string
	for i, p := range d.Panels {
		for _, other := range d.Panels[:i] {
			if p.ID == other.ID || p.overlaps(other) {
				t.Errorf("the panels %q and %q have the same id or overlap", other.Title, p.Title)
			}
		}
		if p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s is outside the grid: %+v", p.Title, p.GridPos)
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.Type != "prometheus" ||
			p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%+v has no title, description, unit, data source or target", p)
		}
		for _, target := range p.Targets {
			if target.RefID == "" {
				t.Errorf("%s has a target without refId", p.Title)
			}
			checkExpression(t, p.Title, target.Expr, existing, submatches(legendLabel, target.LegendFormat))
		}
	}
	want := []string{"Overview", "Requests", "Latency", "Errors", "Database", "Webhooks", "Backups", "Memory and process"}
	if !slices.Equal(rows, want) {
		t.Errorf("rows: got %q, want %q", rows, want)
	}
}
