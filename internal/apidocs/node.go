package apidocs

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"

	"animalstore/api"
)

// document gives access to the nodes of the OpenAPI document. It works on YAML nodes, because they keep the order of
// the document. It assumes that the document is valid, which the tests of package api check.
type document struct{ root *yaml.Node }

// members iterates over the keys and values of a mapping, in the order of the document.
func members(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// items returns the items of a list, or nil if there is no list.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// member returns a member of a mapping without resolving a reference, or nil if there is none.
func member(n *yaml.Node, name string) *yaml.Node {
	for key, value := range members(n) {
		if key == name {
			return value
		}
	}
	return nil
}

// at returns the node that is reached from n by following the names, or nil if there is none. It resolves all
// references on the way.
func (d document) at(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		n = d.resolve(member(n, name))
	}
	return n
}

// text is like at, but returns the value of the scalar that it finds, or "" if there is none.
func (d document) text(n *yaml.Node, names ...string) string {
	if n = d.at(n, names...); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

func (d document) resolve(n *yaml.Node) *yaml.Node {
	if ref := member(n, "$ref"); ref != nil {
		return d.at(d.root, strings.Split(strings.TrimPrefix(ref.Value, "#/"), "/")...)
	}
	return n
}

// refName returns the name of the schema that a reference points to, or "" if the node is not a reference.
func refName(n *yaml.Node) string {
	if ref := member(n, "$ref"); ref != nil {
		return ref.Value[strings.LastIndexByte(ref.Value, '/')+1:]
	}
	return ""
}

// compactJSON returns a node as JSON on one line.
func compactJSON(n *yaml.Node) (string, error) {
	var b bytes.Buffer
	err := api.WriteJSON(&b, n)
	return b.String(), err
}

// exampleText formats an example for readers. Objects and lists become indented JSON. A single value stays unchanged.
func exampleText(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	compact, err := compactJSON(n)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.Indent(&b, []byte(compact), "", "  ")
	return b.String(), err
}
