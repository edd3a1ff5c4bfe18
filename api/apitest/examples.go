package apitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Example is a request that is made from the examples in a document.
type Example struct {
	// Name is the operation's id, followed by the name of the body's example or of the only query parameter, if any.
	Name   string
	Method string
	Path   string // the path, including the query
	Header http.Header
	Body   string
}

// Examples returns requests that together use every example in a YAML document. The requests are in the order of the
// document. An operation with a body gets one request for each example of the body. This request has all parameters.
// If a parameter has several examples, the request uses the one with the same name as the body's example. An operation
// without a body gets one request with all parameters. If the operation is a GET, it gets one more request for each
// example of a query parameter. Examples fails if a parameter or a body has no example.
func Examples(document []byte) ([]Example, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(document, &file); err != nil {
		return nil, err
	}
	r := exampleReader{root: file.Content[0]}
	for path, item := range members(r.at(r.root, "paths")) {
		for method, operation := range members(item) {
			r.addOperation(strings.ToUpper(method), path, operation)
		}
	}
	return r.all, errors.Join(r.problems...)
}

// exampleReader collects examples from the YAML nodes of a document. Unlike decoded maps, nodes keep the order
// of the document.
type exampleReader struct {
	root     *yaml.Node
	all      []Example
	problems []error
}

// parameter is a parameter of an operation, with its examples in order.
type parameter struct {
	in, name string
	examples []namedValue
}

type namedValue struct {
	name  string
	value any
}

// named returns the example with this name. If there is none, it returns the first example.
func (p parameter) named(name string) any {
	i := slices.IndexFunc(p.examples, func(e namedValue) bool { return e.name == name })
	return p.examples[max(i, 0)].value
}

// members iterates over the keys and values of a mapping.
func members(n *yaml.Node) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// at returns the member of a mapping that has the given name, with references resolved. It returns nil if there
// is no such member.
func (r *exampleReader) at(n *yaml.Node, name string) *yaml.Node {
	for key, value := range members(n) {
		if key == name {
			return r.resolve(value)
		}
	}
	return nil
}

func (r *exampleReader) resolve(n *yaml.Node) *yaml.Node {
	for key, ref := range members(n) {
		if key == "$ref" {
			target := r.root
			for name := range strings.SplitSeq(strings.TrimPrefix(ref.Value, "#/"), "/") {
				target = r.at(target, name)
			}
			return target
		}
	}
	return n
}

// examples returns the examples of a parameter or a media type.
func (r *exampleReader) examples(n *yaml.Node) (all []namedValue) {
	add := func(name string, n *yaml.Node) {
		var value any
		if err := n.Decode(&value); err != nil {
			r.problems = append(r.problems, err)
		}
		all = append(all, namedValue{name, value})
	}
	if example := r.at(n, "example"); example != nil {
		add("", example)
	}
	if file := r.at(n, "x-example-file"); file != nil { // an image cannot be written into the document
		content, err := exampleFile(file.Value)
		r.problems = append(r.problems, err)
		all = append(all, namedValue{file.Value, content})
	}
	for name, example := range members(r.at(n, "examples")) {
		add(name, r.at(r.resolve(example), "value"))
	}
	return all
}

func (r *exampleReader) addOperation(method, path string, operation *yaml.Node) {
	id := r.at(operation, "operationId").Value
	var parameters []parameter
	if list := r.at(operation, "parameters"); list != nil {
		for _, n := range list.Content {
			n = r.resolve(n)
			p := parameter{r.at(n, "in").Value, r.at(n, "name").Value, r.examples(n)}
			if len(p.examples) == 0 {
				r.problems = append(r.problems, fmt.Errorf("%s: the parameter %s has no example", id, p.name))
				return
			}
			parameters = append(parameters, p)
		}
	}
	content := r.at(r.at(operation, "requestBody"), "content")
	for mediaType, media := range members(content) {
		bodies := r.examples(media)
		if len(bodies) == 0 {
			r.problems = append(r.problems, fmt.Errorf("%s: the body %s has no example", id, mediaType))
		}
		for _, body := range bodies {
			text, isText := body.value.(string)
			if !isText {
				encoded, err := json.Marshal(body.value)
				r.problems = append(r.problems, err)
				text = string(encoded)
			}
			example := newExample(id+" "+body.name, method, path, parameters, body.name)
			example.Header.Set("Content-Type", mediaType)
			example.Body = text
			r.all = append(r.all, example)
		}
	}
	if content == nil {
		r.all = append(r.all, newExample(id, method, path, parameters, ""))
	}
	if method == http.MethodGet {
		r.all = append(r.all, aloneExamples(id, path, parameters)...)
	}
}

// newExample returns a request with all parameters. For each parameter, it uses the example with the name given as
// like or, if there is none, the first example.
func newExample(name, method, path string, parameters []parameter, like string) Example {
	query, header := url.Values{}, http.Header{}
	for _, p := range parameters {
		switch value := p.named(like); p.in {
		case "path":
			path = fillPath(path, p.name, value)
		case "query":
			query[p.name] = texts(value)
		case "header":
			header[http.CanonicalHeaderKey(p.name)] = texts(value)
		}
	}
	return Example{Name: name, Method: method, Path: withQuery(path, query), Header: header}
}

// aloneExamples returns one request for each example of each query parameter. The request has only this one query
// parameter.
func aloneExamples(id, path string, parameters []parameter) (all []Example) {
	for _, p := range parameters {
		if p.in == "path" {
			path = fillPath(path, p.name, p.examples[0].value)
		}
	}
	for _, p := range parameters {
		for _, example := range p.examples {
			if p.in == "query" {
				query := url.Values{p.name: texts(example.value)}
				all = append(all, Example{Name: id + " " + p.name, Method: http.MethodGet, Path: withQuery(path, query), Header: http.Header{}})
			}
		}
	}
	return all
}

func fillPath(path, name string, value any) string {
	return strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(fmt.Sprint(value)))
}

func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// texts returns the values of a query parameter or a header. If value is a list, each of its items is one value.
func texts(value any) (all []string) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, item := range list {
		all = append(all, fmt.Sprint(item))
	}
	return all
}
