// Command clients proves that clients generated from the OpenAPI document work. For each generator in generators.go it
// starts the real service on an empty store, generates a client from the document that the service serves, compiles it
// together with the scenario in the generator's folder, and runs the scenario. It prints one table and exits with 1
// unless all steps of all generators succeed.
//
// Usage, in the root of the repository: go run ./clients [-only REGEXP] [-keep]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
)

func main() {
	only := flag.String("only", "", "run only clients whose name in the table matches this regular expression")
	keep := flag.Bool("keep", false, "keep the folder with the generated clients")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

// run tests the selected generators and prints the table. It fails if any step of any generator fails.
func run(ctx context.Context, only string, keep bool) error {
	selected, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	userCache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	cache := filepath.Join(userCache, "animalstore", "clients")
	dir, err := os.MkdirTemp("", "animalstore-clients-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Println("working in", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	program := filepath.Join(dir, "animalstore")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/animalstore")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("cannot build the service: %w", err)
	}

	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CLIENT\tGENERATOR\tGENERATES WITHOUT WARNING\tCOMPILES\tSCENARIO PASSES\tREADS LATER VERSIONS\tMATCHES THE DOCUMENT")
	failed := 0
	for _, g := range generators {
		if !selected.MatchString(g.name()) {
			continue
		}
		result := g.try(ctx, filepath.Join(dir, strings.ReplaceAll(g.name(), " ", "-")), program, cache)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !result.ok() {
			failed++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.name(), g.generator,
			yes(result.generates), yes(result.compiles), yes(result.passes), result.readsLater, result.validated)
	}
	fmt.Println()
	if err := table.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d clients do not work", failed)
	}
	return nil
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "NO"
}
