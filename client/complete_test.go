package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"animalstore/client"
	"animalstore/internal/httpapi"
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
	if got := members(reflect.TypeFor[client.Pet]()); !slices.Equal(got, sent) {
		t.Errorf("client.Pet has %q, the service sends %q", got, sent)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[client.NewPet](), reflect.TypeFor[client.PetUpdate]()} {
		if got, want := members(of), sent[1:]; !slices.Equal(got, want) { // all members except the id
			t.Errorf("%s has %q, the service accepts %q", of, got, want)
		}
	}
}

// This package has a constant for every error code in the API document and for every event type.
func TestConstantsAreComplete(t *testing.T) {
	t.Parallel()
	document, source := must(os.ReadFile("../api/openapi.yaml"))(t), must(os.ReadFile("error.go"))(t)
	codes := regexp.MustCompile(`\bcode: ([a-z_]+)`).FindAllSubmatch(document, -1)
	if len(codes) < 10 {
		t.Fatalf("the API document has only %d error examples", len(codes))
	}
	for _, code := range codes {
		if !bytes.Contains(source, fmt.Appendf(nil, "Code = %q", code[1])) {
			t.Errorf("there is no constant for %s", code[1])
		}
	}
	source = must(os.ReadFile("event.go"))(t)
	for _, known := range shop.EventTypes() {
		if !bytes.Contains(source, fmt.Appendf(nil, "EventType = %q", known)) {
			t.Errorf("there is no constant for %s", known)
		}
	}
}

func TestErrorsCanBeRecognizedAndRead(t *testing.T) {
	t.Parallel()
	e := &client.Error{Code: client.CodeInvalidAPIKey, Message: "M.", Status: 401, RequestID: "r1"}
	wantEqual(t, "text", e.Error(), "animalstore: M. (401 invalid_api_key, request r1)")
	wantEqual(t, "text", (&client.Error{Code: "c", Message: "M.", Status: 400}).Error(), "animalstore: M. (400 c)")
	wrapped := fmt.Errorf("wrapped: %w", e)
	if found, ok := errors.AsType[*client.Error](wrapped); !ok || found != e || !client.IsCode(wrapped, client.CodeInvalidAPIKey) {
		t.Errorf("%v is not %s", wrapped, client.CodeInvalidAPIKey)
	}
	for _, other := range []error{nil, io.EOF, &client.Error{Code: client.CodeNotFound}} {
		if client.IsCode(other, client.CodeInvalidAPIKey) {
			t.Errorf("%v is %s", other, client.CodeInvalidAPIKey)
		}
	}
}

// Decoding an event from JSON and encoding it again produces the same JSON.
func TestEventJSON(t *testing.T) {
	t.Parallel()
	const text = `{"specversion":"1.0","id":"7","source":"/v1","type":"pet.deleted","subject":"pets/1","time":"2026-11-15T04:43:34.123456Z",` +
		`"datacontenttype":"application/json","actor":"keys/3","data":{"current":null,"previous":{"id":1}}}`
	var event client.Event
	if err := json.Unmarshal([]byte(text), &event); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "JSON", string(must(json.Marshal(event))(t)), text)
	for data, ok := range map[string]bool{`null`: true, `{}`: true, `7`: false} {
		if err := json.Unmarshal([]byte(`{"data":`+data+`}`), &event); (err == nil) != ok {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// The first program in the package documentation compiles, runs and lists the animals in the service.
func TestFirstProgramOfTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	s.AddPet(t, "Rex", 1, shop.Available)
	api := must(httpapi.New(httpapi.Config{Service: s.Service, Log: slog.New(slog.DiscardHandler)}))(t)
	_, rest, _ := strings.Cut(string(must(os.ReadFile("doc.go"))(t)), "//\tpackage main\n")
	program, _, found := strings.Cut(rest, "//\t}\n//\n// ")
	const address = "http://127.0.0.1:8080/v1"
	if !found || !strings.Contains(program, address) {
		t.Fatalf("the package documentation has no first program that calls %s", address)
	}
	program = "package main\n" + strings.NewReplacer("//\t", "", "//\n", "\n", address, shoptest.Serve(t, api).URL+"/v1").Replace(program) + "}\n"
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "run", file)
	command.Env = append(os.Environ(), "ANIMALSTORE_KEY="+shoptest.AdminKey)
	if output, err := command.CombinedOutput(); err != nil || string(output) != "1 Rex\n" {
		t.Errorf("%s%v", output, err)
	}
}

// Every exported identifier has a doc comment.
func TestEverythingIsDocumented(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, path := range must(filepath.Glob("*.go"))(t) {
		if !strings.HasSuffix(path, "_test.go") {
			parsed = append(parsed, must(parser.ParseFile(files, path, nil, parser.ParseComments))(t))
		}
	}
	documented := must(doc.NewFromFiles(files, parsed, "animalstore/client"))(t)
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
