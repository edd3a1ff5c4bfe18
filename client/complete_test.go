package client_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"animalstore/client"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The client's types have every JSON member of an animal that the service sends or accepts.
func TestClientKnowsEveryPetMember(t *testing.T) {
	t.Parallel()
	members := func(of reflect.Type) (names []string) {
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
				names = append(names, name)
			}
		}
		return names
	}
	sent := members(reflect.TypeFor[shop.Pet]())
	wantEqual(t, "client.Pet", members(reflect.TypeFor[client.Pet]()), sent)
	wantEqual(t, "client.NewPet", members(reflect.TypeFor[client.NewPet]()), sent[1:]) // all members except the id
	wantEqual(t, "client.PetUpdate", members(reflect.TypeFor[client.PetUpdate]()), sent[1:])
}

// This package has a constant for every error code in the API document and for every event type.
func TestConstantsAreComplete(t *testing.T) {
	t.Parallel()
	source := string(shoptest.Must(os.ReadFile("error.go"))(t)) + string(shoptest.Must(os.ReadFile("event.go"))(t))
	var wanted []string
	document := shoptest.Must(os.ReadFile("../api/openapi.yaml"))(t)
	for _, code := range regexp.MustCompile(`\bcode: ([a-z_]+)`).FindAllSubmatch(document, -1) {
		wanted = append(wanted, fmt.Sprintf("Code = %q", code[1]))
	}
	if len(wanted) < 10 {
		t.Fatalf("the API document has only %d error examples", len(wanted))
	}
	for _, known := range shop.EventTypes() {
		wanted = append(wanted, fmt.Sprintf("EventType = %q", known))
	}
	for _, constant := range wanted {
		if !strings.Contains(source, " "+constant) {
			t.Errorf("there is no constant of %s", constant)
		}
	}
}

// The first program in the package documentation compiles, runs and lists the animals in the service.
func TestFirstProgramOfTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	service, closeShop := serveExample()
	defer closeShop()
	c := shoptest.Must(client.New(service.URL, service.Key))(t)
	shoptest.Must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable}))(t)
	_, rest, _ := strings.Cut(string(shoptest.Must(os.ReadFile("doc.go"))(t)), "//\tpackage main\n")
	program, _, found := strings.Cut(rest, "//\t}\n//\n// ")
	const address = "http://127.0.0.1:8080/v1"
	if !found || !strings.Contains(program, address) {
		t.Fatalf("the package documentation has no first program that calls %s", address)
	}
	program = "package main\n" + strings.NewReplacer("//\t", "", "//\n", "\n", address, service.URL).Replace(program) + "}\n"
	file := filepath.Join(t.TempDir(), "main.go")
	shoptest.OK(t, os.WriteFile(file, []byte(program), 0o600))
	command := exec.CommandContext(t.Context(), "go", "run", file)
	command.Env = append(os.Environ(), "ANIMALSTORE_KEY="+service.Key)
	if output, err := command.CombinedOutput(); err != nil || string(output) != "1 Rex\n" {
		t.Errorf("%s%v", output, err)
	}
}

// Every exported identifier has a doc comment.
func TestEverythingIsDocumented(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, path := range shoptest.Must(filepath.Glob("*.go"))(t) {
		if !strings.HasSuffix(path, "_test.go") {
			parsed = append(parsed, shoptest.Must(parser.ParseFile(files, path, nil, parser.ParseComments))(t))
		}
	}
	documented := shoptest.Must(doc.NewFromFiles(files, parsed, "animalstore/client"))(t)
	comments, functions := map[string]string{"the package": documented.Doc}, documented.Funcs
	for _, kind := range documented.Types {
		comments[kind.Name] = kind.Doc
		functions = append(append(functions, kind.Methods...), kind.Funcs...)
	}
	for _, function := range functions {
		comments[function.Recv+"."+function.Name] = function.Doc
	}
	for name, comment := range comments {
		// Error and Unwrap methods need no comment.
		if comment == "" && !strings.HasSuffix(name, ".Error") && !strings.HasSuffix(name, ".Unwrap") {
			t.Errorf("%s is not documented", name)
		}
	}
	if len(documented.Types) < 20 {
		t.Errorf("only %d types were found", len(documented.Types))
	}
}
