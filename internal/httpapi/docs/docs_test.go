// Package docs tests the documentation of the API and its examples as developers use them: in a browser, in a
// shell and with their own tools.
package docs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/demo"
	"animalstore/internal/httpapi"
	"animalstore/internal/shoptest"
)

// openDemo opens a shop with the demo data, runs its background jobs, and returns its API.
func openDemo(t *testing.T) (*shoptest.Shop, http.Handler) {
	t.Helper()
	s := shoptest.Open(t, shoptest.Options{})
	shoptest.Must(demo.Fill(t.Context(), s.Store, s.Database))(t)
	handler := newAPI(t, s)
	var jobs sync.WaitGroup
	jobs.Go(func() { s.RunJobs(t.Context(), func(err error) { t.Error(err) }) })
	t.Cleanup(jobs.Wait)
	return s, handler
}

func newAPI(t *testing.T, s *shoptest.Shop) http.Handler {
	t.Helper()
	return shoptest.Must(httpapi.New(httpapi.Config{Service: s.Service, Log: slog.New(slog.DiscardHandler), Version: "test"}))(t)
}

// serveDocs serves the API of a shop with the demo data.
func serveDocs(t *testing.T) *httptest.Server {
	t.Helper()
	_, handler := openDemo(t)
	return shoptest.Serve(t, handler)
}

// shell runs a script in a folder with additional environment variables and returns its output.
func shell(t *testing.T, dir, script string, variables ...string) (string, error) {
	t.Helper()
	// The timeout only prevents a broken script from blocking the tests.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euc", script)
	command.Dir, command.Env = dir, append(append(os.Environ(), "no_proxy=*"), variables...)
	output, err := command.CombinedOutput()
	return string(output), err
}

// strictCurl makes curl quiet, and makes it fail if the service responds with an error.
const strictCurl = "curl() { command curl --silent --show-error --fail-with-body \"$@\"; }\n"

// typeScript creates a folder, installs the compiler and the types that the TypeScript example uses, and returns the
// folder. Tests share the folder, because an installation takes longer than most tests.
var typeScript = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "docs-typescript-*"); err != nil {
		return "", err
	}
	typeScriptDir = dir
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := os.ReadFile(filepath.Join("../../../examples/typescript", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return "", err
		}
	}
	command := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm: %w\n%s", err, output)
	}
	return dir, nil
})

var typeScriptDir string // the folder that TestMain removes, or "" if no test needed it

func TestMain(m *testing.M) {
	code := m.Run()
	if typeScriptDir != "" {
		os.RemoveAll(typeScriptDir)
	}
	os.Exit(code)
}

// installTypeScript makes the compiler and its types available in a folder.
func installTypeScript(t *testing.T, dir string) {
	t.Helper()
	from := shoptest.Must(typeScript())(t)
	shoptest.OK(t, os.Symlink(filepath.Join(from, "node_modules"), filepath.Join(dir, "node_modules")))
	shoptest.OK(t, os.Symlink(filepath.Join(from, "package.json"), filepath.Join(dir, "package.json")))
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	response := shoptest.Must(http.Get(url))(t)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: got %d, %v, want 200", url, response.StatusCode, err)
	}
	return string(body)
}

// TestTypeScriptExampleCompilesAndRuns generates types from the OpenAPI document, compiles the TypeScript
// example with them and runs it against the service. The deliberate mistakes in src/wrong.ts must not
// compile.
func TestTypeScriptExampleCompilesAndRuns(t *testing.T) {
	t.Parallel()
	server := serveDocs(t)
	root := t.TempDir()
	shoptest.OK(t, os.CopyFS(filepath.Join(root, "examples"), os.DirFS("../../../examples")))
	shoptest.OK(t, os.Mkdir(filepath.Join(root, "api"), 0o700))
	document := fetch(t, server.URL+"/v1/openapi.yaml") // use the document that the service serves
	shoptest.OK(t, os.WriteFile(filepath.Join(root, "api", "openapi.yaml"), []byte(document), 0o600))
	example := filepath.Join(root, "examples", "typescript")
	// Remove what installTypeScript replaces and the files that remain if a developer has run the example.
	for _, name := range []string{"package.json", "node_modules", "dist", "src/animalstore.d.ts"} {
		shoptest.OK(t, os.RemoveAll(filepath.Join(example, name)))
	}
	installTypeScript(t, example)
	if output, err := shell(t, example, "npm run generate; npm run build"); err != nil {
		t.Fatalf("npm: %v\n%s", err, output)
	}
	output, err := shell(t, example, "npm --silent start", "ANIMALSTORE_URL="+server.URL+"/v1", "ANIMALSTORE_KEY="+shoptest.AdminKey)
	for _, line := range []string{
		`\d+: .+`, `\d\d+ animals are available\.`, `Rex, Beagle arrived and is available\.`,
		`The order is placed; repeating the request returns the same order\.`, `Too late: Animal \d+ is not available; .+`,
		`400 validation_failed: .+`, `Bella is in category 9007199254740993\.`,
		`The export starts with id,name,categoryId,status.*\.`, `event pet\.created: available`, `event pet\.updated: pending`, `event pet\.updated: available`,
	} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(output) {
			t.Errorf("no line matches %s", line)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("npm start: %v\n%s", err, output)
	}

	// The build fails if the line after such a comment compiles.
	wrong := shoptest.Must(os.ReadFile(filepath.Join(example, "src", "wrong.ts")))(t)
	if mistakes := strings.Count(string(wrong), "// @ts-expect-error"); mistakes < 8 {
		t.Errorf("wrong.ts contains %d deliberate mistakes, want at least 8", mistakes)
	}
}
