// Package architecture_test checks rules for the whole repository, such as which imports are allowed and what
// the documents must mention.
package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayImport lists, for each package, which of our other packages it may import. Apart from the standard library,
// package shop imports only the Unicode packages in golang.org/x/text. All imports point in one direction, from cmd to
// shop:
//
//	cmd → cli → {server, acme, httpapi, staff, window, webhook, doctor, backup, storeadmin, sqlstore, client, demo}
//	httpapi, staff, window → web → shop
//	httpapi, cli → mcp → client
//	backup → storeadmin → sqlstore → shop
//	sqlstore → {sqlite, postgres, wordindex} → engine
var mayImport = map[string][]string{
	"cmd/animalstore": {"internal/cli"},
	"internal/cli": {"internal/server", "internal/httpapi", "internal/staff", "internal/window", "internal/webhook", "internal/backup", "internal/doctor", "internal/storeadmin",
		"internal/sqlstore", "internal/sqlstore/postgres", "internal/web", "internal/demo", "internal/petcsv", "internal/version", "internal/shop", "internal/admission", "internal/mcp", "internal/tracing", "internal/acme", "client"},
	"internal/server":     {"internal/admission"},
	"internal/httpapi":    {"internal/web", "internal/shop", "internal/admission", "internal/singleflight", "internal/petcsv", "internal/mcp", "internal/apidocs", "client", "api"},
	"internal/mcp":        {"client"},
	"internal/apidocs":    {"api", "docs"},
	"docs":                {},
	"internal/staff":      {"internal/web", "internal/shop", "internal/admission", "internal/petcsv"},
	"internal/window":     {"internal/web", "internal/shop", "internal/admission"},
	"internal/web":        {"internal/shop", "internal/admission", "internal/singleflight", "internal/photo"},
	"internal/petcsv":     {"internal/shop"},
	"internal/webhook":    {"internal/shop"},
	"internal/demo":       {"internal/sqlstore", "internal/shop"},
	"internal/doctor":     {"internal/backup", "internal/server", "internal/sqlstore", "internal/sqlstore/sqlite", "internal/shop"},
	"internal/backup":     {"internal/storeadmin", "internal/sqlstore/sqlite"},
	"internal/storeadmin": {"internal/sqlstore", "internal/sqlstore/sqlite", "internal/shop"},
	"internal/sqlstore":   {"internal/sqlstore/engine", "internal/sqlstore/sqlite", "internal/sqlstore/postgres", "internal/sqlstore/wordindex", "internal/shop"},

	// The engines and the search index do not know what the tables contain, so they must not import shop or sqlstore.
	"internal/sqlstore/sqlite":    {"internal/sqlstore/engine"},
	"internal/sqlstore/postgres":  {"internal/sqlstore/engine", "internal/admission", "internal/singleflight"},
	"internal/sqlstore/wordindex": {"internal/sqlstore/engine"},
	"internal/sqlstore/engine":    {"internal/admission"},

	"internal/shop":         {"internal/admission", "internal/singleflight"},
	"internal/singleflight": {},
	"internal/photo":        {"internal/admission"},
	"internal/admission":    {}, // everything may import it, so it imports nothing of ours
	"internal/version":      {},
	"internal/tracing":      {},
	"internal/acme":         {},
	"internal/dist":         {"internal/version"},
	"internal/mutate":       {},
	"internal/pgversions":   {},
	"clients":               {},
	"client":                {}, // this package is public, so it must not depend on internal packages
	"api":                   {},

	// Only tests import the following packages.
	"api/apitest":          {},
	"internal/storetest":   {"internal/shop"},
	"internal/pgtest":      {},
	"internal/shoptest":    {"internal/storetest", "internal/pgtest", "internal/sqlstore", "internal/shop"},
	"internal/programtest": {},
	"internal/workload":    {"internal/programtest", "client"},
	"internal/browsertest": {},
	"internal/leaktest":    {},
	"internal/otlptest":    {},
	"internal/acmetest":    {},
}

// standardOnly lists the packages that may import only our own packages and the standard library.
var standardOnly = []string{"internal/shop", "internal/dist", "internal/mutate", "cmd/animalstore", "client", "clients"}

// goFiles returns the paths of the module's Go files: the test files if tests is true, and all other files otherwise.
func goFiles(t *testing.T, tests bool) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if _, missing := os.Stat(filepath.Join(path, "go.mod")); missing == nil && path != "." {
			return fs.SkipDir // this folder is a separate module
		}
		if strings.HasSuffix(path, ".go") && strings.HasSuffix(path, "_test.go") == tests {
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func parse(t *testing.T, files *token.FileSet, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// SECURITY.md names the tests that prove its promises. Every test that it names must exist, and it must name
// at least one test for each of the ten OWASP API risks.
func TestSecurityNamesItsTests(t *testing.T) {
	t.Parallel()
	content := read(t, "SECURITY.md")
	var tests strings.Builder
	for _, path := range goFiles(t, true) {
		tests.WriteString(read(t, path))
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`")
	for _, name := range named.FindAllStringSubmatch(content, -1) {
		if !strings.Contains(tests.String(), "\nfunc "+name[1]+"(") {
			t.Errorf("SECURITY.md names %s, which does not exist", name[1])
		}
	}
	for risk := range 10 {
		_, rest, found := strings.Cut(content, fmt.Sprintf("| API%d ", risk+1))
		row, _, _ := strings.Cut(rest, "\n")
		if !found || !named.MatchString(row) {
			t.Errorf("SECURITY.md names no test for API%d", risk+1)
		}
	}
}

// docs/architecture.md must list every package, either by its own path or by the path of its parent.
func TestArchitectureDocumentNamesEveryPackage(t *testing.T) {
	t.Parallel()
	content := read(t, "docs/architecture.md")
	named := func(path string) bool { return strings.Contains(content, "| `"+path+"` |") }
	for path := range mayImport {
		if !named(path) && !named(filepath.ToSlash(filepath.Dir(path))) {
			t.Errorf("docs/architecture.md does not name %s", path)
		}
	}
}

// The troubleshooting table in docs/operating.md quotes messages. The program must still print each of them.
func TestTroubleshootingQuotesRealMessages(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for _, path := range goFiles(t, false) {
		if strings.HasPrefix(path, "internal/") {
			source.WriteString(read(t, path))
		}
	}
	_, table, found := strings.Cut(read(t, "docs/operating.md"), "\n## Troubleshooting\n")
	if !found {
		t.Error("docs/operating.md has no section about troubleshooting")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	for row := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, message := range regexp.MustCompile("`([^`/]+)`").FindAllStringSubmatch(first, -1) {
			if quoted := strings.TrimSuffix(message[1], "…"); !strings.Contains(source.String(), quoted) {
				t.Errorf("docs/operating.md quotes %q, which the program does not print", quoted)
			}
		}
	}
}

func TestNoFileUsesUnsafe(t *testing.T) {
	t.Parallel()
	for _, path := range append(goFiles(t, false), goFiles(t, true)...) {
		for _, spec := range parse(t, token.NewFileSet(), path).Imports {
			if spec.Path.Value == `"unsafe"` {
				t.Errorf("%s imports unsafe", path)
			}
		}
	}
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	packages := map[string]bool{}
	for _, path := range goFiles(t, false) {
		importer := filepath.ToSlash(filepath.Dir(path))
		packages[importer] = true
		allowed, known := mayImport[importer]
		if !known {
			t.Errorf("mayImport has no entry for %s", importer)
			continue
		}
		for _, spec := range parse(t, token.NewFileSet(), path).Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			first, _, _ := strings.Cut(name, "/")
			switch own, isOwn := strings.CutPrefix(name, "animalstore/"); {
			case isOwn && !slices.Contains(allowed, own):
				t.Errorf("%s must not import %s", path, own)
			// Package shop uses golang.org/x/text for case folding.
			case importer == "internal/shop" && strings.HasPrefix(name, "golang.org/x/text/"):
			case !isOwn && strings.Contains(first, ".") && slices.Contains(standardOnly, importer):
				t.Errorf("%s must use only the standard library, not %s", path, name)
			}
		}
	}
	for path := range mayImport {
		if !packages[path] {
			t.Errorf("mayImport has an entry for %s, which does not exist", path)
		}
	}
}
