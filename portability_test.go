package architecture_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The program must compile for Windows and macOS. Compiling all dependencies for another system would take minutes, so
// this test only checks types. In the dependencies, it checks only the declarations and no function bodies.
func TestProgramIsValidOnOtherSystems(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"windows", "darwin"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			command := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./cmd/animalstore")
			command.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
			command.Stderr = os.Stderr
			output, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			checkTypes(t, json.NewDecoder(bytes.NewReader(output)))
		})
	}
}

// checkTypes checks the types in the listed packages. In the list, each package comes after the packages that it
// imports.
func checkTypes(t *testing.T, list *json.Decoder) {
	t.Helper()
	packages, files := map[string]*types.Package{"unsafe": types.Unsafe}, token.NewFileSet()
	for list.More() {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
			Module          struct{ Main bool }
		}
		if err := list.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			parsed = append(parsed, parse(t, files, filepath.Join(p.Dir, name)))
		}
		config := types.Config{
			Importer: importer(func(path string) (*types.Package, error) {
				// ImportMap contains the actual paths of the packages that the standard library vendors.
				if found := packages[cmp.Or(p.ImportMap[path], path)]; found != nil {
					return found, nil
				}
				return nil, errors.New("not listed: " + path)
			}),
			Sizes:            types.SizesFor("gc", "amd64"),
			IgnoreFuncBodies: !p.Module.Main,
			FakeImportC:      true,
			Error: func(err error) {
				if p.Module.Main {
					t.Error(err)
				}
			},
		}
		packages[p.ImportPath], _ = config.Check(p.ImportPath, files, parsed, nil) // config.Error receives all errors
	}
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
