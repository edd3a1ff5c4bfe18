// Package api contains the OpenAPI document, which is the contract for the service.
package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var source []byte

// Source returns the embedded document as it was written, without the URLs of a service. Callers must not change
// it.
func Source() []byte { return source }

// Server is one entry in the document's list of servers.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

// Document is the OpenAPI document. It can be rendered with any list of servers.
type Document struct {
	yaml, json splitDocument
}

// NewDocument returns the embedded document with both formats prepared, so that rendering only has to insert
// the list of servers. It parses the document only once per process.
func NewDocument() (*Document, error) { return parseSource() }

var parseSource = sync.OnceValues(func() (*Document, error) { return parseDocument(source) })

// YAML returns the document as YAML with these servers. It keeps the comments and the layout of the source
// file.
func (d *Document) YAML(servers []Server) []byte { return bytes.Join(d.YAMLParts(servers), nil) }

// JSON returns the document as JSON with these servers. It keeps the order of the keys in the source file.
func (d *Document) JSON(servers []Server) []byte { return bytes.Join(d.JSONParts(servers), nil) }

// YAMLParts is like YAML, but returns the document in three parts. All documents share the first and the last
// part, so callers must not change them.
func (d *Document) YAMLParts(servers []Server) [][]byte { return d.yaml.render(servers) }

// JSONParts is like YAMLParts, but for JSON.
func (d *Document) JSONParts(servers []Server) [][]byte { return d.json.render(servers) }

// splitDocument is a rendered document, split at the place where the list of servers is inserted.
type splitDocument struct{ before, after []byte }

// render inserts the servers as JSON, which is also valid YAML. JSON encoding escapes special characters in
// URLs.
func (s splitDocument) render(servers []Server) [][]byte {
	if servers == nil {
		servers = []Server{}
	}
	var b bytes.Buffer
	writeValue(&b, servers)
	return [][]byte{s.before, b.Bytes(), s.after}
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

// splitYAML cuts the list of servers out of the text and returns the text before and after it. All other lines stay
// unchanged.
func splitYAML(text []byte, root *yaml.Node, at int) splitDocument {
	key, value := root.Content[at], root.Content[at+1]
	lines := slices.Collect(bytes.Lines(text))
	return splitDocument{
		before: append(bytes.Join(lines[:key.Line-1], nil), "servers: "...),
		after:  append([]byte("\n"), bytes.Join(lines[lastLine(value):], nil)...),
	}
}

// lastLine returns the number of a node's last line. It assumes that no single value in the list of servers
// spans several lines.
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

// WriteJSON writes a YAML node as JSON. It works on nodes because decoded values would lose the order of keys
// and the precision of large numbers. It fails if the node has no equivalent in JSON.
func WriteJSON(b *bytes.Buffer, n *yaml.Node) error {
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
			if err := WriteJSON(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		writeValue(b, n.Value)
	case n.Kind == yaml.ScalarNode && json.Valid([]byte(n.Value)):
		b.WriteString(n.Value)
	default: // for example an alias, a date, 0x10 or ~, none of which exist in JSON
		return fmt.Errorf("line %d: %q has no equivalent in JSON", n.Line, n.Value)
	}
	return nil
}

// writeMembers writes alternating keys and values as the members of a JSON object. It writes every key as a
// string.
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
		if err := WriteJSON(b, content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// writeValue writes a string or a list of servers as JSON. Encoding these types cannot fail.
func writeValue(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	b.Truncate(b.Len() - 1) // remove the newline that Encode adds
}
