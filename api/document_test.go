package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"animalstore/internal/shoptest"
)

func load(t *testing.T, document []byte) *openapi3.T {
	t.Helper()
	return shoptest.Must(openapi3.NewLoader().LoadFromData(document))(t)
}

func newDocument(t *testing.T) *Document {
	t.Helper()
	return shoptest.Must(NewDocument())(t)
}

func parse(t *testing.T, text string) *Document {
	t.Helper()
	return shoptest.Must(parseDocument([]byte(text)))(t)
}

// render renders the document as YAML and as JSON and decodes both. The YAML parser can read both, because JSON is
// valid YAML.
func render(t *testing.T, d *Document, servers []Server) (fromYAML, fromJSON map[string]any) {
	t.Helper()
	text := d.JSON(servers)
	shoptest.OK(t, errors.Join(yaml.Unmarshal(d.YAML(servers), &fromYAML), yaml.Unmarshal(text, &fromJSON)))
	if !json.Valid(text) {
		t.Fatalf("%s is not JSON", text)
	}
	return fromYAML, fromJSON
}

func TestYAMLAndJSONAreEqual(t *testing.T) {
	servers := []Server{{URL: "https://animals.test/v1", Description: "Production"}, {URL: "https://staging.animals.test/v1"}}
	fromYAML, fromJSON := render(t, newDocument(t), servers)
	if !reflect.DeepEqual(fromYAML, fromJSON) {
		t.Error("YAML and JSON differ")
	}
	want := []any{
		map[string]any{"url": "https://animals.test/v1", "description": "Production"},
		map[string]any{"url": "https://staging.animals.test/v1"},
	}
	if got := fromJSON["servers"]; !reflect.DeepEqual(got, want) {
		t.Errorf("servers: got %v, want %v", got, want)
	}
}

func TestYAMLKeepsTheOriginalLines(t *testing.T) {
	served := string(newDocument(t).YAML(nil))
	before, rest, _ := strings.Cut(string(source), "servers:\n")
	_, after, _ := strings.Cut(rest, "\n\n")
	if want := before + "servers: []\n\n" + after; served != want {
		t.Errorf("got\n%s", served)
	}
}

func TestServersAreEscaped(t *testing.T) {
	t.Parallel()
	d := parse(t, "servers: []\npaths: {/pets: {}}\n")
	for _, odd := range []string{
		`http://x/"v1`, `http://x/\`, "http://x/\npaths: {}", `"}],"paths":{}`, `http://x/'#: <&>`,
		"http://x/🐢\u2028", "yes", "~", "", "%s",
	} {
		fromYAML, fromJSON := render(t, d, []Server{{URL: odd, Description: odd}})
		for _, got := range []map[string]any{fromYAML, fromJSON} {
			server := got["servers"].([]any)[0].(map[string]any)
			if server["url"] != odd || odd != "" && server["description"] != odd || len(got["paths"].(map[string]any)) == 0 {
				t.Errorf("%q became %q", odd, got)
			}
		}
	}
}

// A later rendering does not change an earlier one.
func TestRenderingsAreIndependent(t *testing.T) {
	d := newDocument(t)
	first := d.YAML([]Server{{URL: "http://first/v1"}})
	kept := bytes.Clone(first)
	d.YAML([]Server{{URL: "http://second/v1"}})
	if !bytes.Equal(first, kept) {
		t.Error("the second rendering changed the first")
	}
}

// YAML scalars become the equivalent JSON values, and the keys of the document keep their order.
func TestScalarsAreConverted(t *testing.T) {
	for _, tt := range []struct{ yaml, json string }{
		{`9223372036854775807`, `9223372036854775807`}, {`-9223372036854775808`, `-9223372036854775808`}, {`1.5`, `1.5`},
		{`'200'`, `"200"`}, {`no`, `"no"`}, {`3.1.0`, `"3.1.0"`}, {`true`, `true`}, {`'true'`, `"true"`}, {`null`, `null`},
		{`{true: a, no: b, 200: c}`, `{"true":"a","no":"b","200":"c"}`}, {`[<a>, "b&\n"]`, `["<a>","b&\n"]`}, {`{}`, `{}`},
	} {
		want := `{"before":` + tt.json + `,"servers":[],"after":` + tt.json + `}`
		if got := string(parse(t, "before: "+tt.yaml+"\nservers: []\nafter: "+tt.yaml+"\n").JSON(nil)); got != want {
			t.Errorf("%s: got %s, want %s", tt.yaml, got, want)
		}
	}
}

func TestServersMayStandAnywhere(t *testing.T) {
	for _, text := range []string{
		"servers:\n  - url: old\n    description: old\n# of a\na: 1\n",
		"a: 1\nservers:\n  - url: old\n  - url: older",
		"a: 1\nservers: [{url: old}] # one\n",
	} {
		want := map[string]any{"a": 1, "servers": []any{map[string]any{"url": "u"}}}
		fromYAML, fromJSON := render(t, parse(t, text), []Server{{URL: "u"}})
		if !reflect.DeepEqual(fromYAML, want) || !reflect.DeepEqual(fromJSON, want) {
			t.Errorf("%q: got %v as YAML and %v as JSON, want %v", text, fromYAML, fromJSON, want)
		}
	}
}

func TestYAMLBeyondJSONIsRejected(t *testing.T) {
	for _, text := range []string{
		"", "[]", "a: 1", "a: servers", "a: [", "a: {servers: []}",
		"a: 2030-12-05\nservers: []", "a: 0x10\nservers: []", "a: ~\nservers: []", "a: .nan\nservers: []",
		"servers: []\na: True", "a: &x 1\nservers: []\nb: *x", "servers: []\n? [a]\n: 1",
	} {
		if _, err := parseDocument([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// The document in JSON is valid, including its examples. TestYAMLAndJSONAreEqual proves the same for YAML.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	if err := load(t, newDocument(t).JSON(nil)).Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

// Validation detects a broken example in a request, a response, a parameter and a webhook. This proves that
// examples are validated at all.
func TestInvalidExamplesAreDetected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, new string }{
		{"value: { name: Rex, categoryId: 1, status: available }", "value: { name: Rex }"},
		{"- { id: 1, name: Mia, categoryId: 2 }", "- { id: 1, name: Mia, categoryId: '2' }"},
		{"example: rex", "example: ' '"},
		{"type: webhook.test", "type: webhook.tried"},
	} {
		spoilt := strings.Replace(string(source), tt.old, tt.new, 1)
		if spoilt == string(source) {
			t.Fatalf("%q is not in the document", tt.old)
		}
		if err := load(t, []byte(spoilt)).Validate(t.Context()); err == nil {
			t.Errorf("%q was accepted", tt.new)
		}
	}
}

// Header examples are checked here because the OpenAPI library does not validate them.
func TestHeaderExamplesMatchTheirSchemas(t *testing.T) {
	for name, header := range load(t, source).Components.Headers {
		schema, example := header.Value.Schema.Value, header.Value.Example
		if example == nil && schema.Const == nil {
			t.Errorf("%s has no example", name)
		} else if example != nil && schema.VisitJSON(example, openapi3.EnableJSONSchema2020()) != nil {
			t.Errorf("%s has the example %v, which does not match its schema", name, example)
		}
	}
}

func TestNamePattern(t *testing.T) {
	doc := load(t, source)
	pattern := doc.Components.Schemas["NewPet"].Value.Properties["name"].Value.Pattern
	for name, other := range map[string]string{
		"Pet":     doc.Components.Schemas["Pet"].Value.Properties["name"].Value.Pattern,
		"q":       doc.Components.Parameters["q"].Value.Schema.Value.Pattern,
		"subject": doc.Components.Parameters["subject"].Value.Schema.Value.Pattern,
	} {
		if other != pattern {
			t.Errorf("%s has a different pattern: %s", name, other)
		}
	}
	rule := regexp.MustCompile(pattern)
	for text, good := range map[string]bool{
		"a": true, " a ": true, "  a b  ": true, "🐢": true, "\u00a0": true, "\u2028": true, "\u0085": true, "<&>\"'\\": true,
		"": false, " ": false, "   ": false, "a\n": false, "\na": false, "a\x00b": false, "a\x1f": false, "\x7f": false, "a\tb": false,
	} {
		if rule.MatchString(text) != good {
			t.Errorf("%q: accepted is %v, want %v", text, !good, good)
		}
	}
}
