package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// testName names a test as package.TestName or package.TestName/subtest. The package is the last element of
// its import path.
type testName struct {
	pkg, function string
	subtests      []string
}

var testNamePattern = regexp.MustCompile(`^([a-z0-9]+)\.((?:Test|Fuzz|Example)[^/\s]*)((?:/\S+)*)$`)

func parseTestName(text string) (testName, error) {
	parts := testNamePattern.FindStringSubmatch(text)
	if parts == nil {
		return testName{}, fmt.Errorf("%q is not the name of a test such as shop.TestName or shop.TestName/subtest", text)
	}
	name := testName{pkg: parts[1], function: parts[2]}
	if parts[3] != "" {
		name.subtests = strings.Split(parts[3][1:], "/")
	}
	return name, nil
}

// inPackage returns the name without the package, as go test prints it.
func (n testName) inPackage() string {
	return strings.Join(append([]string{n.function}, n.subtests...), "/")
}

func (n testName) String() string { return n.pkg + "." + n.inPackage() }

// pattern returns the argument for go test -run that selects only this test.
func (n testName) pattern() string {
	parts := []string{"^" + regexp.QuoteMeta(n.function) + "$"}
	for _, subtest := range n.subtests {
		parts = append(parts, "^"+regexp.QuoteMeta(subtest)+"$")
	}
	return strings.Join(parts, "/")
}

// testIndex knows every test in the repository.
type testIndex struct {
	root     string
	folders  map[string]string          // maps the name of a package to its folder, relative to the root
	declared map[string]bool            // the tests, as package.TestName
	literals map[string]map[string]bool // the strings in the tests of each package; some of them are names of subtests
}

// suitePackage contains tests that other packages run as subtests.
const suitePackage = "storetest"

// indexTests parses all test files below root.
func indexTests(root string) (*testIndex, error) {
	index := &testIndex{root, map[string]string{}, map[string]bool{}, map[string]map[string]bool{}}
	files := os.DirFS(root)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == "bench" || entry.Name() == "testdata" || name != "." && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		folder := path.Dir(name)
		pkg := path.Base(folder)
		if folder == "." {
			pkg = "animalstore" // the import path of the root package is the module path
		}
		if !strings.HasSuffix(name, "_test.go") && (pkg != suitePackage || !strings.HasSuffix(name, ".go")) {
			return nil
		}
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if other, known := index.folders[pkg]; known && other != folder {
			return fmt.Errorf("%s and %s both have tests, so %s does not identify a package", other, folder, pkg)
		}
		index.folders[pkg] = folder
		index.add(pkg, file)
		return nil
	})
	return index, err
}

func (i *testIndex) add(pkg string, file *ast.File) {
	if i.literals[pkg] == nil {
		i.literals[pkg] = map[string]bool{}
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil {
			i.declared[pkg+"."+function.Name.Name] = true
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				i.literals[pkg][strings.ReplaceAll(text, " ", "_")] = true
			}
		}
		return true
	})
}

// check fails if a test does not exist. The name of a subtest must occur as a string in the package of the test or in
// suitePackage.
func (i *testIndex) check(n testName) error {
	if !i.declared[n.pkg+"."+n.function] {
		return fmt.Errorf("there is no test %s.%s", n.pkg, n.function)
	}
	for _, subtest := range n.subtests {
		if !i.literals[n.pkg][subtest] && !i.literals[suitePackage][subtest] {
			return fmt.Errorf("there is no subtest %s in %s.%s", subtest, n.pkg, n.function)
		}
	}
	return nil
}
