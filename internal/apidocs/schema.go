package apidocs

import (
	"html/template"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// schema holds what the reference shows about a schema: its type, and the properties of an object.
type schema struct {
	Name        string
	Description template.HTML
	Type        valueType
	Properties  []property
	Choices     []string // the names of the schemas in anyOf; a value matches one of them
}

type property struct {
	Name        string
	Required    bool
	Description template.HTML
	Type        valueType
}

// valueType describes a value. Ref is the name of a schema that the reference shows elsewhere; it is "" for
// values that are described here.
type valueType struct {
	Prefix, Ref string // such as "array of" and "Pet"
	Name        string // such as "integer (int64)", if there is no Ref
	Enum        []string
	Open        bool // later versions may add to Enum
	Limits      []string
}

// schemas returns the named schemas of objects, lists and choices. Schemas of single values are shown where
// they are used.
func (d document) schemas() (all []schema, err error) {
	for name, n := range members(d.at(d.root, "components", "schemas")) {
		if d.isSingle(n) {
			continue
		}
		s, err := d.schema(name, n)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// isSingle reports whether a schema describes a single value, such as a string.
func (d document) isSingle(n *yaml.Node) bool {
	n = d.resolve(n)
	kind := d.kind(n)
	return member(n, "oneOf") == nil && member(n, "anyOf") == nil && kind != "object" && kind != "array"
}

// kind returns the type of a schema without "null".
func (d document) kind(n *yaml.Node) string {
	if list := items(d.at(n, "type")); len(list) > 0 {
		return list[0].Value
	}
	return d.text(n, "type")
}

func (d document) schema(name string, n *yaml.Node) (schema, error) {
	s := schema{Name: name, Type: d.valueType(n)}
	if s.Name == "" {
		s.Name = refName(n)
	}
	n = d.resolve(n)
	var err error
	if s.Description, err = markdown(d.text(n, "description")); err != nil {
		return s, err
	}
	var required []string
	for _, item := range items(d.at(n, "required")) {
		required = append(required, item.Value)
	}
	for name, node := range members(d.at(n, "properties")) {
		p := property{Name: name, Required: slices.Contains(required, name), Type: d.valueType(node)}
		if p.Description, err = markdown(d.text(d.resolve(node), "description")); err != nil {
			return s, err
		}
		s.Properties = append(s.Properties, p)
	}
	for _, choice := range items(d.at(n, "anyOf")) {
		s.Choices = append(s.Choices, refName(choice))
	}
	return s, nil
}

func (d document) valueType(n *yaml.Node) valueType {
	if name := refName(n); name != "" && !d.isSingle(n) && d.kind(d.resolve(n)) != "array" {
		return valueType{Ref: name}
	}
	n = d.resolve(n)
	if choices := items(d.at(n, "oneOf")); choices != nil {
		t := valueType{Name: "null"}
		for _, choice := range choices {
			if refName(choice) != "" {
				t = d.valueType(choice)
				t.Prefix = strings.TrimSpace("null or " + t.Prefix)
			}
		}
		return t
	}
	if d.kind(n) == "array" {
		t := d.valueType(member(n, "items"))
		t.Prefix = strings.TrimSpace("array of " + t.Prefix)
		t.Limits = nil
		if max := d.text(n, "maxItems"); max != "" {
			t.Limits = []string{"at most " + max + " items"}
		}
		return t
	}
	t := valueType{Name: d.kind(n)}
	if format := d.text(n, "format"); format != "" {
		t.Name += " (" + format + ")"
	}
	if len(items(d.at(n, "type"))) > 1 {
		t.Name += " or null"
	}
	for _, value := range items(d.at(n, "enum")) {
		t.Enum = append(t.Enum, value.Value)
	}
	for _, value := range items(d.at(n, "x-extensible-enum")) {
		t.Enum, t.Open = append(t.Enum, value.Value), true
	}
	t.Limits = d.limits(n)
	return t
}

// limits returns the restrictions of a schema in words. It leaves out patterns, because the descriptions explain
// them.
func (d document) limits(n *yaml.Node) (all []string) {
	between := func(low, high, unit string) {
		switch {
		case low != "" && high != "" && low == high:
			all = append(all, "exactly "+low+unit)
		case low != "" && high != "":
			all = append(all, low+" to "+high+unit)
		case low != "":
			all = append(all, "at least "+low+unit)
		case high != "":
			all = append(all, "at most "+high+unit)
		}
	}
	between(d.text(n, "minimum"), d.text(n, "maximum"), "")
	between(d.text(n, "minLength"), d.text(n, "maxLength"), " characters")
	if value := d.text(n, "const"); value != "" {
		all = append(all, "always "+value)
	}
	if value := d.text(n, "default"); value != "" {
		all = append(all, "default "+value)
	}
	return all
}
