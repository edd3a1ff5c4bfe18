package api_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"animalstore/api"
)

// Every vendored file has a published checksum and matches it.
func TestVendoredFilesAreUnmodified(t *testing.T) {
	sums, err := os.ReadFile("docs/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	contents, err := api.DocsFiles()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		known[name] = true
		if got := fmt.Sprintf("%x", sha256.Sum256(contents[name])); got != sum {
			t.Errorf("%s has the checksum %s, want %s", name, got, sum)
		}
	}
	files, err := os.ReadDir("docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.Contains(file.Name(), "swagger") && !known[file.Name()] {
			t.Errorf("%s has no checksum", file.Name())
		}
	}
}
