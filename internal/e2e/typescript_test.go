package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTypeScriptExampleCompilesAndRuns generates types from the OpenAPI document, compiles the TypeScript
// example with them and runs it against the service. The deliberate mistakes in src/wrong.ts must not
// compile.
func TestTypeScriptExampleCompilesAndRuns(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve("--demo")
	example := &folder{t: t, dir: t.TempDir(), variables: []string{"ANIMALSTORE_URL=" + p.url + "/v1", "ANIMALSTORE_KEY=" + adminKey}}
	if err := os.CopyFS(example.path("examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	document := p.send("GET", "/v1/openapi.yaml", "", "") // use the document that the service serves
	expectStatus(t, document, 200)
	if err := os.Mkdir(example.path("api"), 0o700); err != nil {
		t.Fatal(err)
	}
	example.write("api/openapi.yaml", document.body)
	example.dir = filepath.Join(example.dir, "examples", "typescript")
	// Remove files that are left over if a developer has run the example.
	for _, built := range []string{"node_modules", "dist", "src/animalstore.d.ts"} {
		if err := os.RemoveAll(example.path(built)); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"npm ci", "npm run generate", "npm run check", "npm run build"} {
		if r := example.shell(command); r.code != 0 {
			t.Fatalf("%s: got %+v, want exit code 0", command, r)
		}
	}
	r := example.shell("npm --silent start")
	for _, line := range []string{
		`\d+: .+, .+`, `\d\d+ animals are available\.`, `Rex, Beagle arrived and is available\.`,
		`The order is placed; repeating the request returns the same order\.`, `Too late: Animal \d+ is not available; .+`,
		`400 validation_failed: .+`, `event pet\.created: available`, `event pet\.updated: pending`, `event pet\.updated: available`,
	} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(r.stdout) {
			t.Errorf("no line matches %s", line)
		}
	}
	if r.code != 0 || t.Failed() {
		t.Errorf("npm start: %+v", r)
	}

	// Without the @ts-expect-error comments, the compiler must report all mistakes.
	wrong := example.read("src/wrong.ts")
	expected := regexp.MustCompile(`(?m)^ *// @ts-expect-error.*\n`)
	mistakes := len(expected.FindAllString(wrong, -1))
	example.write("src/wrong.ts", expected.ReplaceAllString(wrong, ""))
	r = example.shell("npm --silent run check")
	if found := strings.Count(r.stdout, "src/wrong.ts("); r.code == 0 || mistakes < 8 || found < mistakes {
		t.Errorf("the compiler reports %d of %d mistakes, want all, and at least 8: %+v", found, mistakes, r)
	}
}
