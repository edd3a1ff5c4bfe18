// Command mutate tests the tests. It puts one fault at a time into the product and runs the test that must
// notice it. mutants.txt lists the faults and explains its format. The files in the repository stay as they
// are, because the compiler reads the changed file from an overlay.
//
//	go run ./internal/mutate [-run regexp] [-find regexp]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"sync"
	"time"
)

func main() {
	selected := flag.String("run", "", "try only the mutants whose name matches this regular `expression`")
	find := flag.String("find", "", "list the tests that catch a mutant, of those in the package of its test that match this `expression`")
	jobs := flag.Int("jobs", runtime.NumCPU(), "the `number` of mutants to try at the same time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *selected, *find, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, selected, find string, jobs int) error {
	expression, err := regexp.Compile(selected)
	if err != nil {
		return err
	}
	all, err := parseMutants(mutantList)
	if err != nil {
		return err
	}
	index, err := indexTests(".")
	if err != nil {
		return err
	}
	var mutants []mutant
	for _, m := range all {
		if expression.MatchString(m.name) {
			mutants = append(mutants, m)
		}
	}
	if len(mutants) == 0 {
		return fmt.Errorf("no mutant matches %q", selected)
	}
	if find != "" {
		return findTests(ctx, index, mutants, find)
	}
	fmt.Fprintln(os.Stderr, "mutate: running the tests without a mutant")
	if err := checkUnmutated(ctx, index, mutants); err != nil {
		return err
	}
	return tryAll(ctx, index, mutants, jobs)
}

// findTests prints, for each mutant, the tests that match the pattern and fail.
func findTests(ctx context.Context, index *testIndex, mutants []mutant, pattern string) error {
	for _, m := range mutants {
		run, err := m.runTests(ctx, index, pattern)
		if err != nil {
			return err
		}
		fmt.Println(m.name)
		if len(run.outcomes) < 2 { // the only outcome is that of the package, so no test ran
			fmt.Println(run.output)
		}
		for _, name := range run.failing() {
			fmt.Printf("\t%s.%s\t%.1fs\n", m.test.pkg, name, run.seconds[name])
		}
	}
	return nil
}

// tryAll tries the mutants and prints a table. It fails unless every mutant is caught.
func tryAll(ctx context.Context, index *testIndex, mutants []mutant, jobs int) error {
	nameWidth, testWidth := len("mutant"), len("test")
	for _, m := range mutants {
		nameWidth, testWidth = max(nameWidth, len(m.name)), max(testWidth, len(m.test.String()))
	}
	line := func(name, test, verdict, seconds string) {
		fmt.Printf("%-*s  %-*s  %-8s  %7s\n", nameWidth, name, testWidth, test, verdict, seconds)
	}
	line("mutant", "test", "verdict", "seconds")
	start := time.Now()
	todo, done := make(chan mutant), make(chan result)
	go func() {
		defer close(todo)
		for _, m := range mutants {
			todo <- m
		}
	}()
	var workers sync.WaitGroup
	for range max(1, jobs) {
		workers.Go(func() {
			for m := range todo {
				done <- m.try(ctx, index)
			}
		})
	}
	go func() { workers.Wait(); close(done) }()
	count := map[string]int{}
	var problems []error
	for r := range done {
		count[r.verdict]++
		line(r.name, r.test.String(), r.verdict, fmt.Sprintf("%.1f", r.took.Seconds()))
		switch r.verdict {
		case "survived":
			problems = append(problems, fmt.Errorf("%s survived: %s passes although this promise is broken: %s", r.name, r.test, r.breaks))
		case "error":
			problems = append(problems, fmt.Errorf("%s could not be tried:\n%s", r.name, r.details))
		}
	}
	fmt.Printf("\n%d mutants in %.0f s: %d caught, %d survived, %d with an error\n",
		len(mutants), time.Since(start).Seconds(), count["caught"], count["survived"], count["error"])
	return errors.Join(problems...)
}
