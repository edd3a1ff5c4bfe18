package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

const root = "../.."

// The list of mutants must keep up with the code and with the names of the tests. Whether the tests catch the
// mutants is checked by make mutate, which takes minutes.
func TestEveryMutantAppliesAndNamesATest(t *testing.T) {
	t.Parallel()
	mutants, err := parseMutants(mutantList)
	if err != nil {
		t.Fatal(err)
	}
	index, err := indexTests(root)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range mutants {
		if names[m.name] {
			t.Errorf("mutants.txt:%d: another mutant has the name %q", m.line, m.name)
		}
		names[m.name] = true
		if err := index.check(m.test); err != nil {
			t.Errorf("mutants.txt:%d: %v", m.line, err)
		}
		mutated, err := m.apply(root)
		if err != nil {
			t.Errorf("mutants.txt:%d: %v", m.line, err)
			continue
		}
		if strings.HasSuffix(m.file, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), m.file, mutated, parser.SkipObjectResolution); err != nil {
				t.Errorf("mutants.txt:%d: the mutant is not valid Go: %v", m.line, err)
			}
		}
	}
}
