package golden

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	sampleLine = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	labelName  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*"`)
)

// TestMetrics compares the names, types and labels of all metrics with a golden file.
func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, engine, area{flags: []string{"--webhook-allow-private"}})
			r := newReceiver(s)
			s.do("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s/hook","types":["pet.created"]}`, r.URL), false)
			s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1,"status":"available"}`, false)
			waitForDeliveries(s, "/v1/webhooks/1", 1)
			s.do("GET", "/v1/pets/1", "", false)
			s.do("POST", "/v1/store/orders", `{"petId":1}`, false)
			s.stream("/v1/events?after=0", 1, nil)
			s.do("GET", "/v1/nothing", "", false)
			check(t, "metrics-"+engine.name+".txt", describeMetrics(s.do("GET", "/metrics", "", false).body))
		})
	}
}

func describeMetrics(text string) string {
	types := map[string]string{}
	for _, line := range typeLine.FindAllStringSubmatch(text, -1) {
		types[line[1]] = line[2]
	}
	labels := map[string]map[string]bool{}
	for _, line := range sampleLine.FindAllStringSubmatch(text, -1) {
		name := line[1]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); types[name] == "" && types[base] != "" {
				name = base
			}
		}
		if labels[name] == nil {
			labels[name] = map[string]bool{}
		}
		for _, label := range labelName.FindAllStringSubmatch(line[2], -1) {
			labels[name][label[1]] = true
		}
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&lines, "%s %s {%s}\n", name, types[name], strings.Join(slices.Sorted(maps.Keys(labels[name])), ", "))
	}
	return lines.String()
}
