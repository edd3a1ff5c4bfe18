package apitest

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas compiles each schema of a document only once. The OpenAPI library would compile a schema again for every
// value that it checks.
type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	pointers map[*openapi3.Schema]string // the URL by which the compiler finds each schema
	compiled map[*openapi3.Schema]*jsonschema.Schema
}

const resource = "https://example.com/document.json"

// newSchemas collects the schemas of all components, response bodies and response headers, also of the common headers.
func newSchemas(doc *openapi3.T, common openapi3.Headers) (*schemas, error) {
	s := &schemas{compiler: jsonschema.NewCompiler(), pointers: map[*openapi3.Schema]string{}, compiled: map[*openapi3.Schema]*jsonschema.Schema{}}
	var inline []*openapi3.Schema
	add := func(ref *openapi3.SchemaRef) {
		if ref != nil && s.pointers[ref.Value] == "" {
			s.pointers[ref.Value] = fmt.Sprintf("%s#/inline/%d", resource, len(inline))
			inline = append(inline, ref.Value)
		}
	}
	addResponse := func(response *openapi3.Response) {
		for _, header := range response.Headers {
			add(header.Value.Schema)
		}
		for _, media := range response.Content {
			add(media.Schema)
		}
	}
	components := openapi3.Components{}
	if doc.Components != nil {
		components = *doc.Components
	}
	for _, schema := range components.Schemas {
		add(schema)
	}
	for _, headers := range []openapi3.Headers{components.Headers, common} {
		for _, header := range headers {
			add(header.Value.Schema)
		}
	}
	for _, response := range components.Responses {
		addResponse(response.Value)
	}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, response := range operation.Responses.Map() {
				addResponse(response.Value)
			}
		}
	}
	text, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": components.Schemas}, "inline": inline})
	if err != nil {
		return nil, err
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	closeSchemas(document)
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkTime})
	s.compiler.AssertFormat()
	return s, s.compiler.AddResource(resource, document)
}

// closeSchemas makes schemas accept only the values and members that they list. The document leaves both open, for clients
// that read the responses of later versions.
func closeSchemas(node any) {
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			closeSchemas(item)
		}
	case map[string]any:
		for _, value := range n {
			closeSchemas(value)
		}
		if values, isOpen := n["x-extensible-enum"]; isOpen {
			n["enum"] = values
		}
		_, isObject := n["properties"].(map[string]any)
		if _, hasRule := n["additionalProperties"]; isObject && !hasRule {
			n["additionalProperties"] = false
		}
	}
}

// checkTime rejects invalid times, such as times on 30 February.
func checkTime(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	_, err := time.Parse(time.RFC3339, text)
	return err
}

// check returns an error if a value does not match a schema of the document.
func (s *schemas) check(schema *openapi3.Schema, value any) error {
	compiled, err := s.compile(schema)
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

func (s *schemas) compile(schema *openapi3.Schema) (compiled *jsonschema.Schema, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if compiled = s.compiled[schema]; compiled == nil {
		compiled, err = s.compiler.Compile(s.pointers[schema])
		s.compiled[schema] = compiled
	}
	return compiled, err
}
