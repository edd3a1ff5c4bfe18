package staff

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Third-party files are unmodified, and the licence for each is in the same directory.
func TestVendoredFilesMatchTheirChecksums(t *testing.T) {
	t.Parallel()
	sums, err := static.ReadFile("static/vendor/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		known[name] = sum
	}
	entries, err := fs.ReadDir(static, "static/vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == "SHA256SUMS" || entry.Name() == "README.md" {
			continue
		}
		content, err := static.ReadFile("static/vendor/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != known[entry.Name()] {
			t.Errorf("%s has the checksum %s, want %q", entry.Name(), got, known[entry.Name()])
		}
		if licence, _, _ := strings.Cut(entry.Name(), "."); known[licence+".LICENSE"] == "" {
			t.Errorf("%s has no licence", entry.Name())
		}
	}
	if files := len(entries) - 2; files != len(known) {
		t.Errorf("%d files, but %d checksums", files, len(known))
	}
}

func TestStaticFilesAreCachedForever(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.browser()
	found := regexp.MustCompile(`(?:href|src)="(/staff/static/[^"]+)"`).FindAllStringSubmatch(b.mustGet("/staff/sign-in").body, -1)
	if len(found) < 5 {
		t.Fatalf("the page loads %v", found)
	}
	for _, file := range found {
		got := b.mustGet(file[1])
		if !strings.Contains(got.header.Get("Cache-Control"), "immutable") || got.body == "" {
			t.Errorf("%s: %v", file[1], got.header)
		}
	}
	b.get("/staff/static/0000000000000000/staff.css").want(t, http.StatusNotFound)
}
