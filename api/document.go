// Package api holds the OpenAPI document, which is the contract of the service, and the pages of the
// documentation.
package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var source []byte

// Server is one entry of the document's servers.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

// Document is the OpenAPI document, ready to be rendered with any servers.
type Document struct {
	yaml, json splitDocument
}

// NewDocument parses the embedded document and prepares both formats, so that rendering only inserts the
// servers.
func NewDocument() (*Document, error) { return parseDocument(source) }

// YAML returns the document with these servers. Comments and layout are kept.
func (d *Document) YAML(servers []Server) []byte { return d.yaml.render(servers) }

// JSON returns the document with these servers as JSON. The order of the keys is kept.
func (d *Document) JSON(servers []Server) []byte { return d.json.render(servers) }

// splitDocument is a rendered document, split where the value of servers goes.
type splitDocument struct{ before, after []byte }

// render inserts the servers as JSON, which is also valid YAML, so that special characters in a URL are
// escaped.
func (s splitDocument) render(servers []Server) []byte {
	if servers == nil {
		servers = []Server{}
	}
	var b bytes.Buffer
	b.Write(s.before)
	writeValue(&b, servers)
	b.Write(s.after)
	return b.Bytes()
}

func parseDocument(text []byte) (*Document, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if len(file.Content) == 0 || file.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("openapi.yaml: not a mapping")
	}
	root := file.Content[0]
	at := slices.IndexFunc(root.Content, func(n *yaml.Node) bool { return n.Value == "servers" })
	if at < 0 || at%2 != 0 {
		return nil, errors.New("openapi.yaml: no servers")
	}
	asJSON, err := splitJSON(root, at)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return &Document{yaml: splitYAML(text, root, at), json: asJSON}, nil
}

// splitYAML cuts the lines of the servers out of the text, and keeps every other line unchanged.
func splitYAML(text []byte, root *yaml.Node, at int) splitDocument {
	key, value := root.Content[at], root.Content[at+1]
	lines := slices.Collect(bytes.Lines(text))
	return splitDocument{
		before: append(bytes.Join(lines[:key.Line-1], nil), "servers: "...),
		after:  append([]byte("\n"), bytes.Join(lines[lastLine(value):], nil)...),
	}
}

// lastLine returns the last line of a node. It assumes that no value of the servers spans several lines.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, part := range n.Content {
		last = max(last, lastLine(part))
	}
	return last
}

func splitJSON(root *yaml.Node, at int) (splitDocument, error) {
	var before, after bytes.Buffer
	before.WriteByte('{')
	if err := writeMembers(&before, root.Content[:at]); err != nil {
		return splitDocument{}, err
	}
	if at > 0 {
		before.WriteByte(',')
	}
	before.WriteString(`"servers":`)
	if rest := root.Content[at+2:]; len(rest) > 0 {
		after.WriteByte(',')
		if err := writeMembers(&after, rest); err != nil {
			return splitDocument{}, err
		}
	}
	after.WriteByte('}')
	return splitDocument{before: before.Bytes(), after: after.Bytes()}, nil
}

// writeNode writes a YAML node as JSON. Decoded values would lose the order of keys and the precision of
// large numbers.
func writeNode(b *bytes.Buffer, n *yaml.Node) error {
	switch {
	case n.Kind == yaml.MappingNode:
		b.WriteByte('{')
		if err := writeMembers(b, n.Content); err != nil {
			return err
		}
		b.WriteByte('}')
	case n.Kind == yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeNode(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		writeValue(b, n.Value)
	case n.Kind == yaml.ScalarNode && json.Valid([]byte(n.Value)):
		b.WriteString(n.Value)
	default: // an alias, a date, 0x10, ~
		return fmt.Errorf("line %d: %q has no equivalent in JSON", n.Line, n.Value)
	}
	return nil
}

// writeMembers writes alternating keys and values as members of a JSON object. Keys are always strings.
func writeMembers(b *bytes.Buffer, content []*yaml.Node) error {
	for i := 0; i < len(content); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		if content[i].Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key is not a scalar", content[i].Line)
		}
		writeValue(b, content[i].Value)
		b.WriteByte(':')
		if err := writeNode(b, content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// writeValue writes a string or servers, which can always be encoded.
func writeValue(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	b.Truncate(b.Len() - 1) // the newline that Encode adds
}
