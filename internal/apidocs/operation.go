package apidocs

import (
	"html/template"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// group is a tag of the document with its operations.
type group struct {
	Name, Title string
	Description template.HTML
	Operations  []*operation
}

// operation holds what the reference shows about one operation, or about a message that the service sends.
type operation struct {
	ID, Method, Path, Summary string
	Description               template.HTML
	Scope                     string // "" if any key works
	Public                    bool   // needs no key
	Deprecated                bool
	Message                   bool // sent by the service, not by the reader
	Testable                  bool // has a test panel that is not disabled
	Parameters                []parameter
	Body                      *body
	Responses                 []response
	Answer                    *answer // an example of a successful response; nil if it has no body
	Samples                   []sample
	Words                     string // the words by which a search finds the operation
}

type parameter struct {
	Name, In    string
	Description template.HTML
	Required    bool
	Multiple    bool // may be given several times
	Type        valueType
	Example     string
}

type body struct {
	Description template.HTML
	Required    bool
	Media       []media
}

// media is one representation of a body, such as JSON.
type media struct {
	Type     string
	Schema   schema
	Examples []example
}

type example struct{ Name, Summary, Value string }

type answer struct {
	Status string
	example
}

type response struct {
	Status      string
	Success     bool
	Description template.HTML
	Headers     []header
	Media       []media
}

type header struct {
	Name        string
	Description template.HTML
}

// commonHeaders are headers that most operations list for their responses. The reference describes them only once, together
// with those in x-common-headers.
var commonHeaders = []string{"Cache-Control", "RateLimit", "RateLimit-Policy", "X-Request-Id"}

// titles maps tags to headings, for tags whose names alone say too little.
var titles = map[string]string{"pets": "Animals", "store": "Orders and inventory", "messages": "Messages to webhooks", "document": "This document"}

// groups returns the operations of the document by tag, in the order of the tags, and then the messages.
func (d document) groups() ([]*group, error) {
	var groups []*group
	byName := map[string]*group{}
	for _, tag := range items(d.at(d.root, "tags")) {
		name := d.text(tag, "name")
		title := titles[name]
		if title == "" {
			title = strings.ToUpper(name[:1]) + name[1:]
		}
		description, err := markdown(d.text(tag, "description"))
		if err != nil {
			return nil, err
		}
		byName[name] = &group{Name: name, Title: title, Description: description}
		groups = append(groups, byName[name])
	}
	for _, section := range []string{"paths", "webhooks"} {
		for path, item := range members(d.at(d.root, section)) {
			for method, node := range members(item) {
				o, err := d.operation(strings.ToUpper(method), path, node)
				if err != nil {
					return nil, err
				}
				if section == "webhooks" {
					o.Message, o.Testable, o.Path, o.Samples = true, false, "your URL", nil
				}
				tag := byName[items(d.at(node, "tags"))[0].Value]
				tag.Operations = append(tag.Operations, o)
			}
		}
	}
	return groups, nil
}

// scopePattern matches the scope in the description of an operation, even if a line break splits the sentence.
var scopePattern = regexp.MustCompile("Needs\\s+the\\s+scope\\s+`([a-z:]+)`")

func (d document) operation(method, path string, n *yaml.Node) (*operation, error) {
	description := d.text(n, "description")
	o := &operation{
		ID: d.text(n, "operationId"), Method: method, Path: path, Summary: d.text(n, "summary"),
		Deprecated: d.text(n, "deprecated") == "true",
		Public:     member(n, "security") != nil,
		Testable:   d.text(n, "x-explorer-enabled") != "false",
	}
	if scope := scopePattern.FindStringSubmatch(description); scope != nil {
		o.Scope = scope[1]
	}
	var err error
	if o.Description, err = markdown(description); err != nil {
		return nil, err
	}
	for _, p := range items(d.at(n, "parameters")) {
		parameter, err := d.parameter(d.resolve(p))
		if err != nil {
			return nil, err
		}
		o.Parameters = append(o.Parameters, parameter)
	}
	// Path parameters come first, then query parameters, then headers.
	slices.SortStableFunc(o.Parameters, func(a, b parameter) int {
		return strings.Index("path query header", a.In) - strings.Index("path query header", b.In)
	})
	if request := d.at(n, "requestBody"); request != nil {
		o.Body = &body{Required: d.text(request, "required") == "true"}
		if o.Body.Description, err = markdown(d.text(request, "description")); err != nil {
			return nil, err
		}
		if o.Body.Media, err = d.media(request); err != nil {
			return nil, err
		}
	}
	for status, node := range members(d.at(n, "responses")) {
		r, err := d.response(status, d.resolve(node))
		if err != nil {
			return nil, err
		}
		o.Responses = append(o.Responses, r)
		if o.Answer == nil && r.Success && len(r.Media) > 0 {
			o.Answer = &answer{status, r.Media[0].Examples[0]}
		}
	}
	if o.Samples, err = d.samples(o, n); err != nil {
		return nil, err
	}
	o.Words = words(method, path, d.allText(n))
	return o, nil
}

func (d document) parameter(n *yaml.Node) (parameter, error) {
	description, err := markdown(d.text(n, "description"))
	if err != nil {
		return parameter{}, err
	}
	p := parameter{
		Name: d.text(n, "name"), In: d.text(n, "in"), Description: description, Required: d.text(n, "required") == "true",
		Multiple: d.text(n, "schema", "type") == "array", Type: d.valueType(member(n, "schema")),
	}
	examples := d.examples(n)
	if len(examples) == 0 {
		return p, nil
	}
	value := examples[0].value
	if list := items(value); len(list) > 0 {
		value = list[0]
	}
	p.Example = value.Value
	return p, nil
}

type namedNode struct {
	name, summary string
	value         *yaml.Node // nil if the example is a file
	file          string
}

// examples returns the examples of a parameter or a media type.
func (d document) examples(n *yaml.Node) (all []namedNode) {
	if value := member(n, "example"); value != nil {
		all = append(all, namedNode{value: value})
	}
	if file := d.text(n, "x-example-file"); file != "" {
		all = append(all, namedNode{name: file, file: file})
	}
	for name, node := range members(d.at(n, "examples")) {
		node = d.resolve(node)
		all = append(all, namedNode{name: name, summary: d.text(node, "summary"), value: member(node, "value")})
	}
	return all
}

// media returns the representations of a request or response.
func (d document) media(n *yaml.Node) (all []media, err error) {
	for name, node := range members(d.at(n, "content")) {
		m := media{Type: name}
		if m.Schema, err = d.schema("", member(node, "schema")); err != nil {
			return nil, err
		}
		for _, e := range d.examples(node) {
			if e.value == nil {
				m.Examples = append(m.Examples, example{e.name, e.summary, "The contents of the file " + e.file})
				continue
			}
			text, err := exampleText(e.value)
			if err != nil {
				return nil, err
			}
			m.Examples = append(m.Examples, example{e.name, e.summary, text})
		}
		all = append(all, m)
	}
	return all, nil
}

func (d document) response(status string, n *yaml.Node) (response, error) {
	r := response{Status: status, Success: status[0] == '2'}
	var err error
	if r.Description, err = markdown(d.text(n, "description")); err != nil {
		return r, err
	}
	for name, node := range members(d.at(n, "headers")) {
		if slices.Contains(commonHeaders, name) {
			continue
		}
		description, err := markdown(d.text(d.resolve(node), "description"))
		if err != nil {
			return r, err
		}
		r.Headers = append(r.Headers, header{name, description})
	}
	r.Media, err = d.media(n)
	return r, err
}

// allText returns the names and texts below a node and in the schemas and responses that it refers to.
func (d document) allText(n *yaml.Node) string {
	var b strings.Builder
	var walk func(*yaml.Node, int)
	walk = func(n *yaml.Node, depth int) {
		// Only the resources inside events are nested deeper than 12 levels. Searches find these resources through
		// their own operations.
		if n == nil || depth > 12 {
			return
		}
		if ref := member(n, "$ref"); ref != nil {
			b.WriteString(refName(n) + " ")
			if strings.Contains(ref.Value, "/headers/") || strings.Contains(ref.Value, "/examples/") || refName(n) == "Error" {
				return // skip text that many operations share
			}
			n = d.resolve(n)
		}
		if n.Kind == yaml.ScalarNode {
			b.WriteString(n.Value + " ")
		}
		for _, part := range n.Content {
			walk(part, depth+1)
		}
	}
	walk(n, 0)
	return b.String()
}

var wordPattern = regexp.MustCompile(`[\p{L}\p{N}_]+(?:[.:-][\p{L}\p{N}_]+)*`)

// words returns the distinct words of the texts in lower case, separated by spaces.
func words(texts ...string) string {
	var all []string
	seen := map[string]bool{}
	for _, text := range texts {
		for _, word := range wordPattern.FindAllString(strings.ToLower(text), -1) {
			if !seen[word] && len(word) > 1 {
				seen[word] = true
				all = append(all, word)
			}
		}
	}
	return strings.Join(all, " ")
}
