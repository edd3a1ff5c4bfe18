package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed mutants.txt
var mutantList string

// mutant is one fault that can be put into the product, together with the test that must then fail.
type mutant struct {
	name     string
	breaks   string // the promise that the fault breaks
	test     testName
	file     string // the path of the changed file, relative to the root of the repository
	old, new string // the text to be replaced, which must occur exactly once in the file, and its replacement
	line     int    // the line in mutants.txt at which the mutant starts
}

// parseMutants parses the format that the comment at the top of mutants.txt describes.
func parseMutants(text string) ([]mutant, error) {
	var list []mutant
	var problems []error
	current := &mutant{}
	end := func() {
		if current.line == 0 {
			return
		}
		current.old, current.new = strings.TrimSuffix(current.old, "\n"), strings.TrimSuffix(current.new, "\n")
		if current.name == "" || current.breaks == "" || current.test.function == "" || current.file == "" ||
			current.old == "" || current.old == current.new {
			problems = append(problems, fmt.Errorf("mutants.txt:%d: a mutant needs mutant, breaks, test, file and a change", current.line))
		}
		list = append(list, *current)
		current = &mutant{}
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if line == "" {
			end()
			continue
		}
		if current.line == 0 {
			current.line = i + 1
		}
		key, value, _ := strings.Cut(line, " ")
		var err error
		switch key {
		case "mutant":
			current.name = value
		case "breaks":
			current.breaks = value
		case "test":
			current.test, err = parseTestName(value)
		case "file":
			current.file = value
		case "-":
			current.old += value + "\n"
		case "+":
			current.new += value + "\n"
		case "=":
			current.old += value + "\n"
			current.new += value + "\n"
		default:
			err = fmt.Errorf("unknown key %q", key)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("mutants.txt:%d: %w", i+1, err))
		}
	}
	end()
	return list, errors.Join(problems...)
}

// apply returns the contents of the mutant's file with the fault in it. It fails if the text to be replaced
// does not occur exactly once.
func (m mutant) apply(root string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(content), m.old); n != 1 {
		return "", fmt.Errorf("%s contains the text to be replaced %d times, want once:\n%s", m.file, n, m.old)
	}
	return strings.Replace(string(content), m.old, m.new, 1), nil
}
