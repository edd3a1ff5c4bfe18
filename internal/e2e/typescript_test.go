package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// TestTypeScriptExampleCompilesAndRuns generates types from the OpenAPI document, compiles the TypeScript
// example with them and runs it against the service. The deliberate mistakes in src/wrong.ts must not
// compile.
func TestTypeScriptExampleCompilesAndRuns(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--demo")
	example := &programtest.Folder{T: t, Dir: t.TempDir(), Variables: []string{"ANIMALSTORE_URL=" + p.URL + "/v1", "ANIMALSTORE_KEY=" + programtest.AdminKey}}
	if err := os.CopyFS(example.Path("examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	document := p.Send("GET", "/v1/openapi.yaml", "", "") // use the document that the service serves
	programtest.ExpectStatus(t, document, 200)
	if err := os.Mkdir(example.Path("api"), 0o700); err != nil {
		t.Fatal(err)
	}
	example.Write("api/openapi.yaml", document.Body)
	example.Dir = filepath.Join(example.Dir, "examples", "typescript")
	// Remove files that are left over if a developer has run the example.
	for _, built := range []string{"node_modules", "dist", "src/animalstore.d.ts"} {
		if err := os.RemoveAll(example.Path(built)); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"npm ci", "npm run generate", "npm run check", "npm run build"} {
		if r := example.Shell(command); r.Code != 0 {
			t.Fatalf("%s: got %+v, want exit code 0", command, r)
		}
	}
	r := example.Shell("npm --silent start")
	for _, line := range []string{
		`\d+: .+, .+`, `\d\d+ animals are available\.`, `Rex, Beagle arrived and is available\.`,
		`The order is placed; repeating the request returns the same order\.`, `Too late: Animal \d+ is not available; .+`,
		`400 validation_failed: .+`, `event pet\.created: available`, `event pet\.updated: pending`, `event pet\.updated: available`,
	} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(r.Stdout) {
			t.Errorf("no line matches %s", line)
		}
	}
	if r.Code != 0 || t.Failed() {
		t.Errorf("npm start: %+v", r)
	}

	// Without the @ts-expect-error comments, the compiler must report all mistakes.
	wrong := example.Read("src/wrong.ts")
	expected := regexp.MustCompile(`(?m)^ *// @ts-expect-error.*\n`)
	mistakes := len(expected.FindAllString(wrong, -1))
	example.Write("src/wrong.ts", expected.ReplaceAllString(wrong, ""))
	r = example.Shell("npm --silent run check")
	if found := strings.Count(r.Stdout, "src/wrong.ts("); r.Code == 0 || mistakes < 8 || found < mistakes {
		t.Errorf("the compiler reports %d of %d mistakes, want all, and at least 8: %+v", found, mistakes, r)
	}
}
