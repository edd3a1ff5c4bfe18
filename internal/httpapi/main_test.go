package httpapi

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"animalstore/internal/leaktest"
)

// reached contains every "operation status", "header reference" and "code: message" that the tests have seen so far.
var reached sync.Map

// TestMain checks that the tests have seen every response and every header in the OpenAPI document, and every
// error message in its examples. It also checks that no goroutine is still running.
func TestMain(m *testing.M) {
	code := m.Run()
	everything := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == ""
	if code == 0 && everything {
		for _, missing := range unreached() {
			fmt.Println("FAIL: no test has seen the response", missing)
			code = 1
		}
	}
	if code == 0 {
		if err := leaktest.Find(); err != nil {
			fmt.Println("FAIL:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func unreached() (missing []string) {
	checks, err := documentChecks()
	if err != nil {
		return []string{err.Error()}
	}
	need := func(what string) {
		if _, ok := reached.Load(what); !ok {
			missing = append(missing, what)
		}
	}
	eachOperation(checks.Doc, func(_, _ string, operation *openapi3.Operation) {
		for status := range operation.Responses.Map() {
			need(operation.OperationID + " " + status)
		}
	})
	for name := range checks.Doc.Components.Headers {
		need("header #/components/headers/" + name)
	}
	for _, header := range checks.Common {
		need("header " + header.Ref)
	}
	for _, example := range checks.Doc.Components.Examples {
		if body, ok := example.Value.Value.(map[string]any); ok && body["code"] != nil {
			need(fmt.Sprintf("%s: %s", body["code"], body["message"]))
		}
	}
	return missing
}

func eachOperation(doc *openapi3.T, fn func(method, path string, operation *openapi3.Operation)) {
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			fn(method, path, operation)
		}
	}
}
