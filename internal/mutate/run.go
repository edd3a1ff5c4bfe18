package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hangLimit is the time limit for a test run, because a mutant may make a test wait forever. Reaching the limit
// counts as an error and not as a caught mutant, because a test should say what is wrong.
const hangLimit = "3m"

// testRun is the result of one run of go test.
type testRun struct {
	outcomes map[string]string // "pass", "fail" or "skip" for every test and subtest
	seconds  map[string]float64
	output   string
}

// runTests runs the selected tests of a package. If overlay is not "", it is the path of a file that lists
// replacements for source files; see go help build.
func runTests(ctx context.Context, root, folder, pattern, overlay string) (testRun, error) {
	command := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-timeout", hangLimit, "-run", pattern, "./"+folder)
	command.Dir = root
	command.Env = os.Environ()
	if overlay != "" {
		// The -overlay flag is set in GOFLAGS, so that it also applies if a test builds the program.
		command.Env = append(command.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	// An ExitError means that a test has failed. The output says which one.
	stdout, err := command.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed || ctx.Err() != nil {
		return testRun{}, errors.Join(err, ctx.Err())
	}
	run := testRun{outcomes: map[string]string{}, seconds: map[string]float64{}}
	var output strings.Builder
	for line := range bytes.Lines(stdout) {
		var event struct {
			Action, Test, Output string
			Elapsed              float64
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return testRun{}, fmt.Errorf("go test printed %q: %w", line, err)
		}
		switch event.Action {
		case "output", "build-output":
			output.WriteString(event.Output)
		case "pass", "fail", "skip":
			run.outcomes[event.Test], run.seconds[event.Test] = event.Action, event.Elapsed
		}
	}
	run.output = output.String() + stderr.String()
	return run, nil
}

// failing returns the tests that failed. If a subtest failed, it omits the tests that contain the subtest.
func (r testRun) failing() []string {
	var names []string
	for name, outcome := range r.outcomes {
		if outcome == "fail" && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
}

// overlay writes the mutated file and a description for the compiler into the folder temp. It returns the
// path of the description.
func (m mutant) overlay(root, temp string) (string, error) {
	mutated, err := m.apply(root)
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	replacement := filepath.Join(temp, filepath.Base(m.file))
	if err := os.WriteFile(replacement, []byte(mutated), 0o600); err != nil {
		return "", err
	}
	description, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(temp, "overlay.json")
	return path, os.WriteFile(path, description, 0o600)
}

// result is the result of trying a mutant.
type result struct {
	mutant
	verdict string // "caught", "survived" or "error"
	took    time.Duration
	details string // the output of the test, or the error
}

// try runs the mutant's test against the mutant.
func (m mutant) try(ctx context.Context, index *testIndex) result {
	start := time.Now()
	run, err := m.runTests(ctx, index, m.test.pattern())
	r := result{mutant: m, verdict: "error", took: time.Since(start), details: run.output}
	if err != nil {
		r.details = err.Error()
		return r
	}
	switch run.outcomes[m.test.inPackage()] {
	case "fail":
		r.verdict = "caught"
	case "pass":
		r.verdict = "survived"
	}
	return r
}

// runTests runs tests against the mutant. It selects the tests that match the pattern, in the package of the mutant's
// own test.
func (m mutant) runTests(ctx context.Context, index *testIndex, pattern string) (testRun, error) {
	temp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return testRun{}, err
	}
	defer os.RemoveAll(temp)
	overlay, err := m.overlay(index.root, temp)
	if err != nil {
		return testRun{}, err
	}
	return runTests(ctx, index.root, index.folders[m.test.pkg], pattern, overlay)
}

// checkUnmutated fails unless the tests of all mutants pass on the unchanged code. If a test fails on the unchanged
// code, its failure does not show that it catches the mutant.
func checkUnmutated(ctx context.Context, index *testIndex, mutants []mutant) error {
	patterns := map[string][]string{}
	for _, m := range mutants {
		if err := index.check(m.test); err != nil {
			return fmt.Errorf("mutants.txt:%d: %w", m.line, err)
		}
		patterns[m.test.pkg] = append(patterns[m.test.pkg], m.test.pattern())
	}
	runs := map[string]testRun{}
	for pkg, list := range patterns {
		var err error
		if runs[pkg], err = runTests(ctx, index.root, index.folders[pkg], strings.Join(list, "|"), ""); err != nil {
			return err
		}
	}
	for _, m := range mutants {
		if outcome := runs[m.test.pkg].outcomes[m.test.inPackage()]; outcome != "pass" {
			return fmt.Errorf("%s must pass without a mutant, got %q:\n%s", m.test, outcome, runs[m.test.pkg].output)
		}
	}
	return nil
}
