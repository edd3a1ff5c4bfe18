package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"animalstore/internal/programtest"
)

// The names of the service's binary and of the previous version's binary.
const (
	serviceProgram  = "animalstore"
	previousProgram = "animalstore-previous"
)

// build compiles the service with the same flags as `make build`, and the previous version of the service.
func (b *bench) build(ctx context.Context) error {
	if err := b.buildOne(ctx, serviceProgram, "cmd/animalstore"); err != nil {
		return err
	}
	if err := programtest.BuildPrevious(ctx, b.root, b.program(previousProgram)); err != nil {
		b.missing[previous] = err.Error()
		b.progress("%v", err)
	}
	return ctx.Err()
}

// buildOthers compiles the programs that the service is compared with on SQLite.
func (b *bench) buildOthers(ctx context.Context) error {
	if err := b.buildOne(ctx, "bare", "bench/bare"); err != nil {
		return err
	}
	if err := b.buildOne(ctx, "pocketbase", "bench/pocketbase"); err != nil {
		b.missing[pocketbase] = "building it failed"
		b.progress("%v", err)
	}
	if _, err := exec.LookPath("nginx"); err != nil {
		b.missing[nginx] = "it is not installed"
	}
	return ctx.Err()
}

func (b *bench) buildOne(ctx context.Context, name, dir string) error {
	return run(ctx, filepath.Join(b.root, dir), "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", b.program(name), ".")
}

// program returns the path of a compiled program.
func (b *bench) program(name string) string { return filepath.Join(b.work, name) }

// run runs a command to completion. If the command fails, the error contains its output.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, output)
	}
	return nil
}
