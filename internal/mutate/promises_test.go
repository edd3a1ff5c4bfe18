package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// promiseAreas lists the headings that docs/promises.md must have, in this order.
var promiseAreas = []string{"Catalogue", "Orders", "Events", "Webhooks", "Photos", "Keys and sessions", "HTTP", "Staff pages", "Command line", "Client", "Assistants",
	"Storage and durability", "Operating"}

func TestEveryPromiseNamesATest(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(root + "/docs/promises.md")
	if err != nil {
		t.Fatal(err)
	}
	index, err := indexTests(root)
	if err != nil {
		t.Fatal(err)
	}
	var areas []string
	lines := map[string]int{}
	for i, line := range strings.Split(string(content), "\n") {
		if area, ok := strings.CutPrefix(line, "## "); ok {
			areas = append(areas, area)
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || line == "| promise | test |" {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 2 || len(areas) == 0 {
			t.Errorf("promises.md:%d: a row belongs to an area and consists of a promise and its tests: %s", i+1, line)
			continue
		}
		promise := strings.TrimSpace(cells[0])
		if first, ok := lines[promise]; ok {
			t.Errorf("promises.md:%d: line %d makes the same promise", i+1, first)
		}
		lines[promise] = i + 1
		for text := range strings.SplitSeq(cells[1], ", ") {
			name, err := parseTestName(strings.TrimSpace(text))
			if err == nil {
				err = index.check(name)
			}
			if err != nil {
				t.Errorf("promises.md:%d: %v", i+1, err)
			}
		}
	}
	if !slices.Equal(areas, promiseAreas) {
		t.Errorf("promises.md has the areas %q, want %q", areas, promiseAreas)
	}
}
