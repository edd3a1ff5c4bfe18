package architecture_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program must compile for Windows and macOS. Compiling its dependencies for another system would take
// minutes, so this test only checks the types, and in the dependencies only those of the declarations.
func TestProgramIsValidOnOtherSystems(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"windows", "darwin"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			for _, err := range typeErrors(t, system, "./cmd/animalstore") {
				t.Error(err)
			}
		})
	}
}

// typeErrors checks the types in a package and in everything that it imports.
func typeErrors(t *testing.T, system, path string) (found []error) {
	t.Helper()
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module,Error", path)
	command.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := importer{"unsafe": types.Unsafe}
	files := token.NewFileSet()
	// Each package comes after the packages that it imports.
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
			Module          *struct{ Main bool }
			Error           *struct{ Err string }
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Error != nil {
			t.Fatal(p.Error.Err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		own := p.Module != nil && p.Module.Main
		config := types.Config{
			Importer:         mappedImporter{packages, p.ImportMap},
			Sizes:            types.SizesFor("gc", "amd64"),
			IgnoreFuncBodies: !own,
			FakeImportC:      true,
			Error: func(err error) {
				if own {
					found = append(found, err)
				}
			},
		}
		packages[p.ImportPath], _ = config.Check(p.ImportPath, files, parsed, nil) // reports to Error
	}
}

// importer contains the packages that have been checked.
type importer map[string]*types.Package

// mappedImporter knows the real paths of packages that the standard library includes under other paths.
type mappedImporter struct {
	packages importer
	paths    map[string]string
}

func (m mappedImporter) Import(path string) (*types.Package, error) {
	if real, ok := m.paths[path]; ok {
		path = real
	}
	if p := m.packages[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("not listed: " + path)
}
