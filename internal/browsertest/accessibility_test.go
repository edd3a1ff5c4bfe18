package browsertest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The axe files match their published checksums, and axe finds violations on a page that has violations.
func TestAxeIsAuthenticAndFindsViolations(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile("axe/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile("axe/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			t.Errorf("%s has the checksum %s, want %s", name, got, sum)
		}
	}
	page := Open(t, 300, 300)
	page.Run(chromedp.Navigate(`data:text/html,<html lang=en><title>a</title><main><h1>b</h1><input><button></button>`))
	if problems := page.AccessibilityViolations(); len(problems) < 2 {
		t.Errorf("axe found only %q", problems)
	}
}
