package api

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Go code generators turn every parameter and every schema into a type, all in one namespace. If a parameter has the
// same name as a schema, it must therefore use that schema.
func TestParametersDoNotCollideWithSchemas(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	var document struct {
		Components struct {
			Parameters map[string]struct{ Schema object }
			Schemas    object
		}
	}
	if err := yaml.Unmarshal(source, &document); err != nil {
		t.Fatal(err)
	}
	for name, parameter := range document.Components.Parameters {
		typeName := strings.ToUpper(name[:1]) + name[1:]
		_, collides := document.Components.Schemas[typeName]
		if collides && parameter.Schema["$ref"] != "#/components/schemas/"+typeName {
			t.Errorf("the parameter %s would have the same type as the schema %s; rename it", name, typeName)
		}
	}
	if len(document.Components.Parameters) < 10 || len(document.Components.Schemas) < 10 {
		t.Error("the document has hardly any components")
	}
}
