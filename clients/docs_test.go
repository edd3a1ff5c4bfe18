package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/clients.md must contain each generator's command exactly as it is tested here, including versions and options.
func TestDocumentShowsEveryGenerator(t *testing.T) {
	t.Parallel()
	content := readFile(t, "../docs/clients.md")
	for _, g := range generators {
		if !strings.Contains(content, g.generate) {
			t.Errorf("docs/clients.md does not show how to generate %s: %s", g.folder, g.generate)
		}
	}
}

// All code and configuration in docs/clients.md must be copied from the scenarios, because those are tested.
func TestDocumentShowsCodeOfTheScenarios(t *testing.T) {
	t.Parallel()
	var tried strings.Builder
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.Contains(path, string(filepath.Separator)) {
			tried.WriteString(plain(readFile(t, path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(java|python|rust|go|ts|js|yaml)\n(.*?)```").FindAllStringSubmatch(readFile(t, "../docs/clients.md"), -1)
	if len(blocks) < 8 {
		t.Errorf("docs/clients.md has %d blocks of code, which are too few", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(tried.String(), plain(block[2])) {
			t.Errorf("no scenario contains this code of docs/clients.md:\n%s", block[2])
		}
	}
}

// plain returns the text without indentation, comment lines or empty lines.
func plain(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines.WriteString(line + "\n")
		}
	}
	return lines.String()
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
