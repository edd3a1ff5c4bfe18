package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shoptest"
)

// TestTypeScriptExampleCompilesAndRuns generates types from the OpenAPI document, compiles the TypeScript
// example with them and runs it against the service. The deliberate mistakes in src/wrong.ts must not
// compile.
func TestTypeScriptExampleCompilesAndRuns(t *testing.T) {
	t.Parallel()
	server := serveDocs(t)
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.CopyFS(filepath.Join(root, "examples"), os.DirFS("../../../examples")))
	must(os.Mkdir(filepath.Join(root, "api"), 0o700))
	document := fetch(t, server.URL+"/v1/openapi.yaml") // use the document that the service serves
	must(os.WriteFile(filepath.Join(root, "api", "openapi.yaml"), []byte(document), 0o600))
	example := filepath.Join(root, "examples", "typescript")
	// Remove files that are left over if a developer has run the example.
	for _, built := range []string{"node_modules", "dist", "src/animalstore.d.ts"} {
		must(os.RemoveAll(filepath.Join(example, built)))
	}
	if output, err := shell(t, example, "npm ci --no-audit --no-fund; npm run generate; npm run build"); err != nil {
		t.Fatalf("npm: %v\n%s", err, output)
	}
	output, err := shell(t, example, "npm --silent start", "ANIMALSTORE_URL="+server.URL+"/v1", "ANIMALSTORE_KEY="+shoptest.AdminKey)
	for _, line := range []string{
		`\d+: .+, .+`, `\d\d+ animals are available\.`, `Rex, Beagle arrived and is available\.`,
		`The order is placed; repeating the request returns the same order\.`, `Too late: Animal \d+ is not available; .+`,
		`400 validation_failed: .+`, `event pet\.created: available`, `event pet\.updated: pending`, `event pet\.updated: available`,
	} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(output) {
			t.Errorf("no line matches %s", line)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("npm start: %v\n%s", err, output)
	}

	// Without the @ts-expect-error comments, the compiler must report all mistakes.
	path := filepath.Join(example, "src", "wrong.ts")
	wrong, err := os.ReadFile(path)
	must(err)
	expected := regexp.MustCompile(`(?m)^ *// @ts-expect-error.*\n`)
	mistakes := len(expected.FindAllString(string(wrong), -1))
	must(os.WriteFile(path, expected.ReplaceAll(wrong, nil), 0o600))
	output, err = shell(t, example, "npm --silent run check")
	if found := strings.Count(output, "src/wrong.ts("); err == nil || mistakes < 8 || found < mistakes {
		t.Errorf("the compiler reports %d of %d mistakes, want all, and at least 8: %v\n%s", found, mistakes, err, output)
	}
}
