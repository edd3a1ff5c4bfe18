package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The help for every command has examples, and every example is a valid command line.
func TestEveryHelpHasExamplesThatParse(t *testing.T) {
	t.Parallel()
	var visit func(node *kong.Node)
	visit = func(node *kong.Node) {
		if len(examples[node.Path()]) == 0 {
			t.Errorf("%q has no example", node.Path())
		}
		for _, line := range examples[node.Path()] {
			words := regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1)
			if _, err := grammar().Parse(words[1:]); err != nil || !strings.HasPrefix(line, strings.TrimSpace("animalstore "+node.Path())) {
				t.Errorf("example %q of %q: got %v, want the command without an error", line, node.Path(), err)
			}
		}
		for _, child := range node.Children {
			visit(child)
		}
	}
	visit(grammar().Model.Node)
}
