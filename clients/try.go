package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
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

// warning matches a line in which a generator complains.
var warning = regexp.MustCompile(`(?i)\b(warn(ing)?s?|errors?|unable|unsupported)\b`)

// harmless matches what openapi-generator prints for every document: the names of files, that OpenAPI 3.1 is in beta, that
// schemas have no $ref, that Java code shows no examples of bodies, and which names it has adapted to Rust.
var harmless = regexp.MustCompile(`writing file|OpenAPI 3\.1 support is still in beta|Failed to get the schema name: null|` +
	`Ignoring complex example on request body|cannot be used as an? [a-z/ ]+ name\. Renamed to`)

// try generates a client in dir, compiles it and runs its scenario. It prints the output of a step that fails.
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

// install runs the command unless it has run before with the same files, and links the files that it makes into dir.
func install(ctx context.Context, command, dir, cache string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, command)
	given, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range given {
		if strings.Contains(command, entry.Name()) { // a file that pins versions
			content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return "", err
			}
			hash.Write(content)
		}
	}
	installed := filepath.Join(cache, fmt.Sprintf("%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(filepath.Join(installed, ".complete")); err != nil {
		if err := os.RemoveAll(installed); err != nil {
			return "", err
		}
		if err := os.MkdirAll(installed, 0o755); err != nil {
			return "", err
		}
		for _, entry := range given {
			if strings.Contains(command, entry.Name()) {
				content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
				if err != nil {
					return "", err
				}
				if err := os.WriteFile(filepath.Join(installed, entry.Name()), content, 0o644); err != nil {
					return "", err
				}
			}
		}
		fmt.Println("installing:", command)
		if output, err := shell(ctx, command, installed); err != nil {
			return output, err
		}
		if err := os.WriteFile(filepath.Join(installed, ".complete"), nil, 0o644); err != nil {
			return "", err
		}
	}
	made, err := os.ReadDir(installed)
	if err != nil {
		return "", err
	}
	for _, entry := range made {
		link := filepath.Join(dir, entry.Name())
		if _, err := os.Lstat(link); err == nil || entry.Name() == ".complete" {
			continue
		}
		if err := os.Symlink(filepath.Join(installed, entry.Name()), link); err != nil {
			return "", err
		}
	}
	return "", nil
}

// shell runs a command in dir with low priority and returns what it prints.
func shell(ctx context.Context, command, dir string, variables ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nice", "-n", "15", "sh", "-ec", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), variables...)
	output, err := cmd.CombinedOutput()
	return string(output), err
}
