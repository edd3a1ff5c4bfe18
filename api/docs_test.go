package api_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"animalstore/api"
	"animalstore/internal/shoptest"
)

// Every vendored file has a published checksum and matches it.
func TestVendoredFilesAreUnmodified(t *testing.T) {
	sums, contents := shoptest.Must(os.ReadFile("docs/SHA256SUMS"))(t), shoptest.Must(api.DocsFiles())(t)
	known := map[string]bool{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		known[name] = true
		if got := fmt.Sprintf("%x", sha256.Sum256(contents[name])); got != sum {
			t.Errorf("%s has the checksum %s, want %s", name, got, sum)
		}
	}
	for _, file := range shoptest.Must(os.ReadDir("docs"))(t) {
		if strings.Contains(file.Name(), "swagger") && !known[file.Name()] {
			t.Errorf("%s has no checksum", file.Name())
		}
	}
}
