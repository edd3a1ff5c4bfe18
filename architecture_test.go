// Package house holds the rules of the house: which room may enter which.
package house

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
	"strconv"
	"strings"
	"testing"
)

// mayImport says which rooms of the house each room may enter. Imports point one way, from the door to the shop, which
// enters none and uses the standard library alone.
var mayImport = map[string][]string{
	"cmd/animalstore":      {"internal/cli"},
	"internal/cli":         {"internal/server", "internal/demo", "internal/httpapi", "internal/staff", "internal/webhook", "internal/sqlstore", "internal/shop", "client"},
	"internal/demo":        {"internal/sqlstore", "internal/shop"}, // a store to try things on
	"internal/server":      {},
	"internal/httpapi":     {"internal/shop", "internal/petcsv", "api"},
	"internal/staff":       {"internal/shop", "internal/petcsv"},
	"internal/petcsv":      {"internal/shop"}, // the file that people have
	"internal/webhook":     {"internal/shop"},
	"internal/dist":        {}, // makes what is given to people
	"internal/sqlstore":    {"internal/shop", "internal/sqlite"},
	"internal/sqlite":      {},
	"internal/browsertest": {},                // a real browser for tests
	"internal/pgtest":      {},                // real servers for tests
	"internal/leaktest":    {},                // the end of a package's tests
	"internal/storetest":   {"internal/shop"}, // a suite that tests of stores run
	"internal/shop":        {},
	"client":               {}, // the public one: it must not know the house
	"api":                  {},
	"api/apitest":          {}, // the check that tests of the interface use
}

// standardOnly are the rooms that nothing from outside may enter.
var standardOnly = []string{"internal/shop", "internal/dist", "cmd/animalstore", "client"}

// What SECURITY.md promises is held by tests, which it names; each of them exists, and each of the ten risks has some.
func TestSecurityNamesItsTests(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil {
				declared[function.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`")
	for _, name := range named.FindAllStringSubmatch(string(content), -1) {
		if !declared[name[1]] {
			t.Errorf("SECURITY.md names %s, which there is not", name[1])
		}
	}
	for risk := range 10 {
		label := fmt.Sprintf("| API%d ", risk+1)
		_, rest, found := strings.Cut(string(content), label)
		row, _, _ := strings.Cut(rest, "\n")
		if !found || !named.MatchString(row) {
			t.Errorf("SECURITY.md has no test for API%d", risk+1)
		}
	}
}

// A newcomer finds every room in the list, by its own name or with the one that it is part of.
func TestContributingNamesEveryRoom(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	named := func(room string) bool { return strings.Contains(string(content), "| `"+room+"` |") }
	for room := range mayImport {
		if !named(room) && !named(filepath.ToSlash(filepath.Dir(room))) {
			t.Errorf("CONTRIBUTING.md does not name %s", room)
		}
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	rooms := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && path == "bench" { // another house, with a module of its own
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(path))
		rooms[room] = true
		allowed, known := mayImport[room]
		if !known {
			t.Errorf("the room %s has no rule here", room)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			first, _, _ := strings.Cut(name, "/")
			switch own, isOwn := strings.CutPrefix(name, "animalstore/"); {
			case isOwn && !slices.Contains(allowed, own):
				t.Errorf("%s must not import %s", path, own)
			case !isOwn && strings.Contains(first, ".") && slices.Contains(standardOnly, room):
				t.Errorf("%s must use the standard library alone, not %s", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range mayImport {
		if !rooms[room] {
			t.Errorf("there is a rule for %s, but no such room", room)
		}
	}
}
