package version

import (
	"os"
	"regexp"
	"testing"
)

// The changelog begins with the section about this version, and the OpenAPI document contains the same version.
func TestVersionIsDocumented(t *testing.T) {
	t.Parallel()
	for file, pattern := range map[string]string{
		"../../CHANGELOG.md":     `(?m)^## (\S+),`,
		"../../api/openapi.yaml": `(?m)^  x-release: (\S+)$`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(pattern).FindSubmatch(text); found == nil || string(found[1]) != Number {
			t.Errorf("%s: the first match of %s is %q, want the version %s", file, pattern, found, Number)
		}
	}
}
