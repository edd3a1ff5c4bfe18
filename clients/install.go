package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// install runs an install command in a folder in the cache and then links the files in that folder into dir. The files
// in dir that the command mentions pin versions, so install first copies them to the folder. If the cache already has
// the result for the same command and files, the command does not run again. If the command fails, install returns its
// output.
func install(ctx context.Context, command, dir, cache string) (string, error) {
	pinned, err := namedFiles(command, dir)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	fmt.Fprintln(hash, command)
	for _, file := range pinned {
		hash.Write(file.content)
	}
	installed := filepath.Join(cache, fmt.Sprintf("%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(filepath.Join(installed, ".complete")); err != nil {
		if output, err := runInstall(ctx, command, installed, pinned); err != nil {
			return output, err
		}
	}
	return "", linkFiles(installed, dir)
}

// namedFile is a file that an install command mentions.
type namedFile struct {
	name    string
	content []byte
}

// namedFiles reads the files in dir whose names occur in the command.
func namedFiles(command, dir string) (files []namedFile, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if strings.Contains(command, entry.Name()) {
			content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, err
			}
			files = append(files, namedFile{entry.Name(), content})
		}
	}
	return files, nil
}

// runInstall runs a command in a new folder that contains the given files. If it succeeds, runInstall marks the
// folder as complete.
func runInstall(ctx context.Context, command, folder string, files []namedFile) (string, error) {
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(folder, file.name), file.content, 0o644); err != nil {
			return "", err
		}
	}
	fmt.Println("installing:", command)
	if output, err := shell(ctx, command, folder); err != nil {
		return output, err
	}
	return "", os.WriteFile(filepath.Join(folder, ".complete"), nil, 0o644)
}

// linkFiles links the files in folder into dir, except those that dir already contains.
func linkFiles(folder, dir string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		link := filepath.Join(dir, entry.Name())
		if _, err := os.Lstat(link); err == nil || entry.Name() == ".complete" {
			continue
		}
		if err := os.Symlink(filepath.Join(folder, entry.Name()), link); err != nil {
			return err
		}
	}
	return nil
}

// shell runs a command in dir with low priority and returns its output.
func shell(ctx context.Context, command, dir string, variables ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nice", "-n", "15", "sh", "-ec", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), variables...)
	output, err := cmd.CombinedOutput()
	return string(output), err
}
