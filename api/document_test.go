package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"
)

func newDocument(t *testing.T) *Document {
	t.Helper()
	d, err := NewDocument()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func decodeYAML(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return normalize(t, v)
}

func decodeJSON(t *testing.T, text []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// normalize converts values decoded from YAML to the types that JSON decoding produces.
func normalize(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return decodeJSON(t, text)
}

func TestYAMLAndJSONAreEqual(t *testing.T) {
	d := newDocument(t)
	servers := []Server{
		{URL: "https://animals.test/v1", Description: "Production"},
		{URL: "https://staging.animals.test/v1"},
	}
	fromYAML, fromJSON := decodeYAML(t, d.YAML(servers)), decodeJSON(t, d.JSON(servers))
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

	written := decodeYAML(t, source)
	delete(written, "servers")
	delete(fromYAML, "servers")
	if !reflect.DeepEqual(fromYAML, written) {
		t.Error("more than the servers has changed")
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
	d, err := parseDocument([]byte("servers: []\npaths: {/pets: {}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{
		`http://x/"v1`, `http://x/\`, "http://x/\npaths: {}", `"}],"paths":{}`, `http://x/'#: <&>`,
		"http://x/🐢\u2028", "yes", "~", "", "%s",
	} {
		servers := []Server{{URL: odd, Description: odd}}
		for name, got := range map[string]map[string]any{
			"YAML": decodeYAML(t, d.YAML(servers)),
			"JSON": decodeJSON(t, d.JSON(servers)),
		} {
			server := got["servers"].([]any)[0].(map[string]any)
			if server["url"] != odd || (odd != "" && server["description"] != odd) {
				t.Errorf("%s: %q became %q", name, odd, server)
			}
			if len(got["paths"].(map[string]any)) == 0 {
				t.Errorf("%s: %q changed the paths", name, odd)
			}
		}
	}
}

// Rendering the document must not change the result of an earlier rendering.
func TestRenderingsAreIndependent(t *testing.T) {
	d := newDocument(t)
	first := d.YAML([]Server{{URL: "http://first/v1"}})
	kept := bytes.Clone(first)
	d.YAML([]Server{{URL: "http://second/v1"}})
	if !bytes.Equal(first, kept) {
		t.Error("the second rendering changed the first")
	}
}

func TestJSONKeepsTheKeyOrder(t *testing.T) {
	var file yaml.Node
	if err := yaml.Unmarshal(source, &file); err != nil {
		t.Fatal(err)
	}
	served := newDocument(t).JSON([]Server{{URL: "as many members", Description: "as in the file"}})
	var fromJSON yaml.Node
	if err := yaml.Unmarshal(served, &fromJSON); err != nil {
		t.Fatal(err)
	}
	if got, want := keys(&fromJSON), keys(&file); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// keys returns every key below a node, in document order.
func keys(n *yaml.Node) (all []string) {
	for i, part := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			all = append(all, part.Value)
		}
		all = append(all, keys(part)...)
	}
	return all
}

func TestScalarsAreConverted(t *testing.T) {
	for _, tt := range []struct{ yaml, json string }{
		{`9223372036854775807`, `9223372036854775807`},
		{`-9223372036854775808`, `-9223372036854775808`},
		{`9007199254740993`, `9007199254740993`},
		{`1.5`, `1.5`},
		{`'200'`, `"200"`},
		{`no`, `"no"`},
		{`3.1.0`, `"3.1.0"`},
		{`true`, `true`},
		{`'true'`, `"true"`},
		{`null`, `null`},
		{`{200: a, no: b, true: c}`, `{"200":"a","no":"b","true":"c"}`},
		{`[<a>, "b&\n"]`, `["<a>","b&\n"]`},
		{`{}`, `{}`},
		{`[]`, `[]`},
	} {
		d, err := parseDocument([]byte("before: " + tt.yaml + "\nservers: []\nafter: " + tt.yaml + "\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.yaml, err)
			continue
		}
		want := `{"before":` + tt.json + `,"servers":[],"after":` + tt.json + `}`
		if got := string(d.JSON(nil)); got != want {
			t.Errorf("%s: got %s, want %s", tt.yaml, got, want)
		}
	}
}

func TestServersMayStandAnywhere(t *testing.T) {
	servers := []Server{{URL: "u"}}
	for _, text := range []string{
		"servers:\n  - url: old\n    description: old\n# of a\na: 1\n",
		"a: 1\nservers:\n  - url: old\n  - url: older",
		"a: 1\nservers: [{url: old}] # one\n",
	} {
		d, err := parseDocument([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"a": json.Number("1"), "servers": []any{map[string]any{"url": "u"}}}
		if got := decodeYAML(t, d.YAML(servers)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: YAML %v", text, got)
		}
		if got := decodeJSON(t, d.JSON(servers)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: JSON %v", text, got)
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
	doc, err := openapi3.NewLoader().LoadFromData(newDocument(t).JSON(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
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
		doc, err := openapi3.NewLoader().LoadFromData([]byte(spoilt))
		if err != nil {
			t.Fatal(err)
		}
		if err := doc.Validate(t.Context()); err == nil {
			t.Errorf("%q was accepted", tt.new)
		}
	}
}

// Header examples are checked here because the OpenAPI library does not validate them.
func TestHeaderExamplesMatchTheirSchemas(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(source)
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range doc.Components.Headers {
		schema, example := header.Value.Schema.Value, header.Value.Example
		if schema.Const == nil && example == nil {
			t.Errorf("%s has no example", name)
		}
		if example == nil {
			continue
		}
		if err := schema.VisitJSON(example, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamePattern(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(source)
	if err != nil {
		t.Fatal(err)
	}
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
	for _, good := range []string{"a", " a ", "  a b  ", "🐢", "\u00a0", "\u2028", "\u0085", "<&>\"'\\"} {
		if !rule.MatchString(good) {
			t.Errorf("%q was rejected", good)
		}
	}
	for _, bad := range []string{"", " ", "   ", "a\n", "\na", "a\x00b", "a\x1f", "\x7f", "a\tb"} {
		if rule.MatchString(bad) {
			t.Errorf("%q was accepted", bad)
		}
	}
}
