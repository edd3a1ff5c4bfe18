package client_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The first program in the package documentation compiles, runs and lists the animals in the service.
func TestFirstProgramOfTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.addPet("Rex")
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "//\tpackage main\n")
	program, _, found := strings.Cut(rest, "//\t}\n//\n// ")
	if !found {
		t.Fatal("the package documentation has no first program")
	}
	const address = "http://127.0.0.1:8080/v1"
	if !strings.Contains(program, address) {
		t.Errorf("the program does not call %s", address)
	}
	program = "package main\n" + strings.NewReplacer("//\t", "", "//\n", "\n", address, s.url).Replace(program) + "}\n"
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "run", file)
	command.Env = append(os.Environ(), "ANIMALSTORE_KEY="+adminKey)
	if output, err := command.CombinedOutput(); err != nil || string(output) != "1 Rex\n" {
		t.Errorf("%s%v", output, err)
	}
}

// Every exported identifier has a doc comment.
func TestEverythingIsDocumented(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	documented, err := doc.NewFromFiles(files, parsed, "animalstore/client")
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, text string) {
		t.Helper()
		// The methods Error and Unwrap need no comment.
		if text == "" && !strings.HasSuffix(name, ".Error") && !strings.HasSuffix(name, ".Unwrap") {
			t.Errorf("%s is not documented", name)
		}
	}
	functions := func(of string, list []*doc.Func) {
		for _, function := range list {
			check(of+function.Name, function.Doc)
		}
	}
	functions("", documented.Funcs)
	for _, kind := range documented.Types {
		check(kind.Name, kind.Doc)
		functions(kind.Name+".", kind.Methods)
		functions("", kind.Funcs)
	}
	if len(documented.Types) < 20 || documented.Doc == "" {
		t.Errorf("%d types were found", len(documented.Types))
	}
}
