package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// result says which steps have succeeded. validated is "-" for a client that does not run through Prism.
type result struct {
	generates, compiles, passes bool
	validated                   string
}

func (r result) ok() bool { return r.generates && r.compiles && r.passes && r.validated != "NO" }

// warning matches a line that contains a generator's warning or error.
var warning = regexp.MustCompile(`(?i)\b(warn(ing)?s?|errors?|unable|unsupported)\b`)

// harmless matches messages that openapi-generator prints for every document. They list the files it writes and the
// names it changes for Rust, and say that OpenAPI 3.1 is in beta, that a schema has no name, and that examples of
// request bodies are left out in Java.
var harmless = regexp.MustCompile(`writing file|OpenAPI 3\.1 support is still in beta|Failed to get the schema name: null|` +
	`Ignoring complex example on request body|cannot be used as an? [a-z/ ]+ name\. Renamed to`)

// try generates a client in dir, compiles it and runs its scenario. If a step fails, try prints the step's output.
func (g generator) try(ctx context.Context, dir, program, cache string) (r result) {
	r.validated = "-"
	if g.prism {
		r.validated = "NO"
	}
	fail := func(step string, output string, err error) result {
		fmt.Printf("%s: %s: %v\n%s\n", g.folder, step, err, output)
		return r
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("clients", g.folder))); err != nil {
		return fail("copy", "", err)
	}
	if g.example != "" {
		if err := copyFile(filepath.Join(dir, "src", filepath.Base(g.example)), g.example); err != nil {
			return fail("copy", "", err)
		}
	}
	service, err := startService(ctx, program)
	if err != nil {
		return fail("start the service", "", err)
	}
	defer service.stop()
	for _, command := range g.install {
		if output, err := install(ctx, command, dir, cache); err != nil {
			return fail("install", output, err)
		}
	}
	step := func(name, command string) (string, error) {
		start := time.Now()
		command = strings.ReplaceAll(command, "http://127.0.0.1:8080", service.url)
		output, err := shell(ctx, command, dir, "ANIMALSTORE_URL="+service.url+"/v1", "ANIMALSTORE_KEY="+adminKey,
			"CARGO_TARGET_DIR="+filepath.Join(cache, "cargo-target"))
		fmt.Printf("%s: %s: %.1f s\n", g.folder, name, time.Since(start).Seconds())
		return output, err
	}

	output, err := step("generate", g.generate)
	if err != nil {
		return fail("generate", output, err)
	}
	r.generates = true
	for line := range strings.Lines(output) {
		if warning.MatchString(line) && !harmless.MatchString(line) {
			r.generates = false
			fmt.Printf("%s: generate: %s", g.folder, line)
		}
	}
	if output, err = step("compile", g.compile); err != nil {
		return fail("compile", output, err)
	}
	r.compiles = true
	if output, err = step("run", g.run); err != nil {
		return fail("run", output, err)
	}
	r.passes = true
	fmt.Print(output)
	if g.prism {
		if output, err = g.runThroughPrism(ctx, dir, program, cache); err != nil {
			return fail("run through Prism", output, err)
		}
		r.validated = "yes"
	}
	return r
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
