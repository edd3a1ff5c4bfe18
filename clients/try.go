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

// result says which steps have succeeded. readsLater is "-" for the client of an earlier version, and validated for a client
// that does not run through Prism.
type result struct {
	generates, compiles, passes bool
	readsLater, validated       string
}

func (r result) ok() bool {
	return r.generates && r.compiles && r.passes && r.readsLater != "NO" && r.validated != "NO"
}

// warning matches a line that contains a generator's warning or error.
var warning = regexp.MustCompile(`(?i)\b(warn(ing)?s?|errors?|unable|unsupported)\b`)

// harmless matches messages that openapi-generator prints for every document. They list the files it writes and the
// names it changes for Rust, and say that OpenAPI 3.1 is in beta, that a schema has no name, and that examples of
// request bodies are left out in Java.
var harmless = regexp.MustCompile(`writing file|OpenAPI 3\.1 support is still in beta|Failed to get the schema name: null|` +
	`Ignoring complex example on request body|cannot be used as an? [a-z/ ]+ name\. Renamed to`)

// try generates a client in dir, compiles it and runs its scenario. If a step fails, try prints the step's output.
func (g generator) try(ctx context.Context, dir, program, cache string) (r result) {
	r.readsLater, r.validated = "NO", "-"
	if g.release.version != "" {
		r.readsLater = "-"
	}
	if g.prism {
		r.validated = "NO"
	}
	fail := func(step string, output string, err error) result {
		fmt.Printf("%s: %s: %v\n%s\n", g.name(), step, err, output)
		return r
	}
	if output, err := g.copyFolder(ctx, dir); err != nil {
		return fail("copy", output, err)
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
		if g.release.version != "" {
			command = strings.ReplaceAll(command, "http://127.0.0.1:8080/v1/openapi.yaml", "openapi.yaml") // copyFolder wrote it
		}
		command = strings.ReplaceAll(command, "http://127.0.0.1:8080", service.url)
		output, err := shell(ctx, command, dir, "ANIMALSTORE_URL="+service.url+"/v1", "ANIMALSTORE_KEY="+adminKey,
			"CARGO_TARGET_DIR="+filepath.Join(cache, "cargo-target"))
		fmt.Printf("%s: %s: %.1f s\n", g.name(), name, time.Since(start).Seconds())
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
			fmt.Printf("%s: generate: %s", g.name(), line)
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
	if r.readsLater != "-" {
		if output, err = g.runAgainstLater(ctx, dir, program, cache); err != nil {
			return fail("run against a later version", output, err)
		}
		r.readsLater = "yes"
	}
	if g.prism {
		if output, err = g.runThroughPrism(ctx, dir, program, cache); err != nil {
			return fail("run through Prism", output, err)
		}
		r.validated = "yes"
	}
	return r
}

// copyFolder copies the generator's folder to dir. For an earlier version, it takes the folder from that version's commit, and
// adds the document. It fails if the repository lacks that commit, as a shallow clone does.
func (g generator) copyFolder(ctx context.Context, dir string) (string, error) {
	if g.release.version == "" {
		return "", os.CopyFS(dir, os.DirFS(filepath.Join("clients", g.folder)))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return shell(ctx, fmt.Sprintf("git archive --output %[1]s/folder.tar %[2]s:clients/%[3]s; tar -xf %[1]s/folder.tar -C %[1]s; "+
		"git show %[2]s:api/openapi.yaml >%[1]s/openapi.yaml", dir, g.release.commit, g.folder), ".")
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
