package plans

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// statement is a statement that the server has executed. Its plan was logged by the auto_explain module.
type statement struct {
	Text     string `json:"Query Text"`
	Plan     node
	duration float64 // in milliseconds
}

// node is one node in the tree of a plan.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Hit      int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Plans    []node
}

// pages returns the number of pages that the node and the nodes below it have read.
func (n node) pages() int { return n.Hit + n.Read }

// all returns the node and all nodes below it. It leaves out nodes that were not executed.
func (n node) all() (nodes []node) {
	if n.Loops > 0 {
		nodes = append(nodes, n)
	}
	for _, below := range n.Plans {
		nodes = append(nodes, below.all()...)
	}
	return nodes
}

// examined returns the number of rows that a node has read from a table.
func (n node) examined() float64 {
	if n.Relation == "" || !strings.Contains(n.Type, "Scan") {
		return 0
	}
	return (n.Rows + n.Removed) * n.Loops
}

// marker begins the log message that separates the statements of one request from those of the next.
const marker = "plans: "

// parseLog returns the statements in the server's log, grouped by the request or job that caused them.
func parseLog(t *testing.T, log string) map[string][]statement {
	t.Helper()
	found, request := map[string][]statement{}, ""
	lines := strings.Split(log, "\n")
	for i := 0; i < len(lines); i++ {
		if _, name, ok := strings.Cut(lines[i], "LOG:  "+marker); ok {
			request = name
		}
		_, rest, ok := strings.Cut(lines[i], "LOG:  duration: ")
		if !ok || !strings.HasSuffix(rest, "plan:") || request == "" {
			continue
		}
		var s statement
		if _, err := fmt.Sscanf(rest, "%f ms", &s.duration); err != nil {
			t.Fatalf("%s: %v", rest, err)
		}
		var text strings.Builder
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t") {
			i++
			text.WriteString(lines[i][1:] + "\n")
		}
		if err := json.Unmarshal([]byte(text.String()), &s); err != nil {
			t.Fatalf("%v in %s", err, text.String())
		}
		found[request] = append(found[request], s)
	}
	return found
}
