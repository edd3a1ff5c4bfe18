package apidocs

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// These are the placeholders in samples. Page.Fill replaces the base URL, and a script on the page replaces the key.
const (
	baseURL = "https://base.invalid/v1"
	yourKey = "YOUR_KEY"
)

// Sample is a program in one language that sends the example request of an operation.
type Sample struct{ Operation, Language, Code string }

// Fill returns the code for the service at a base URL, with a key.
func (s Sample) Fill(base, key string) string {
	return strings.NewReplacer(baseURL, base, yourKey, key).Replace(s.Code)
}

// sample is the template data for a Sample, with the code also as highlighted HTML.
type sample struct {
	Language, Title, Code string
	HTML                  template.HTML
}

// request is the request that the samples of an operation send. It contains the first example of the body, the required
// parameters and, if the operation has them, the limit and status parameters.
type request struct {
	method, url, contentType string
	public                   bool
	body                     *yaml.Node // nil if there is no body, or if it is a file
	file                     string     // the name of the file that is the body; "" if there is none
}

var languages = []struct {
	name, title string
	write       func(request) (string, error)
}{
	{"curl", "curl", request.curl},
	{"go", "Go", request.golang},
	{"typescript", "TypeScript", request.typescript},
	{"python", "Python", request.python},
}

func (d document) samples(o *operation, n *yaml.Node) (all []sample, err error) {
	r := request{method: o.Method, public: o.Public}
	path, query := o.Path, []string{}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(p.Example))
		case p.In == "query" && (p.Required || slices.Contains([]string{"limit", "status"}, p.Name)):
			query = append(query, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Example))
		}
	}
	r.url = baseURL + path
	if len(query) > 0 {
		r.url += "?" + strings.Join(query, "&")
	}
	for name, media := range members(d.at(n, "requestBody", "content")) {
		first := d.examples(media)[0]
		if r.contentType, r.body = name, first.value; r.body == nil {
			r.file = first.file
		}
		break
	}
	for _, language := range languages {
		code, err := language.write(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.ID, err)
		}
		all = append(all, sample{language.name, language.title, code, highlight(code, language.name)})
	}
	return all, nil
}

// headers returns the names and values of the headers to send.
func (r request) headers() (all [][2]string) {
	if !r.public {
		all = append(all, [2]string{"Authorization", "Bearer " + yourKey})
	}
	if r.hasBody() {
		all = append(all, [2]string{"Content-Type", r.contentType})
	}
	return all
}

func (r request) hasBody() bool { return r.body != nil || r.file != "" }

// text returns the body as it is sent.
func (r request) text() (string, error) {
	if r.body.Kind == yaml.ScalarNode {
		return r.body.Value, nil
	}
	return compactJSON(r.body)
}

func (r request) curl() (string, error) {
	lines := []string{"curl "}
	if r.method != http.MethodGet && (r.method != http.MethodPost || !r.hasBody()) {
		lines[0] += "-X " + r.method + " "
	}
	lines[0] += shellQuote(r.url)
	for _, h := range r.headers() {
		lines = append(lines, "-H "+shellQuote(h[0]+": "+h[1]))
	}
	if r.file != "" {
		lines = append(lines, "--data-binary @"+r.file)
	}
	if r.body != nil {
		text, err := r.text()
		if err != nil {
			return "", err
		}
		option := "-d "
		if strings.ContainsAny(text, "\r\n") {
			option = "--data-binary "
		}
		lines = append(lines, option+shellQuote(text))
	}
	return strings.Join(lines, " \\\n     "), nil
}

// shellQuote quotes a word for bash and zsh.
func shellQuote(word string) string {
	if strings.ContainsAny(word, "\r\n'") {
		return "$'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\r", `\r`, "\n", `\n`).Replace(word) + "'"
	}
	return "'" + word + "'"
}

func (r request) golang() (string, error) {
	var b strings.Builder
	body, imports := "nil", []string{"fmt", "io", "log", "net/http", "os"}
	if r.file != "" {
		body = "body"
		fmt.Fprintf(&b, "\tbody, err := os.Open(%q)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n", r.file)
	}
	if r.body != nil {
		text, err := r.text()
		if err != nil {
			return "", err
		}
		body, imports = "body", append(imports, "strings")
		quoted := "`" + text + "`"
		if strings.ContainsAny(text, "`\r\n") {
			quoted = strconv.Quote(text)
		}
		fmt.Fprintf(&b, "\tbody := strings.NewReader(%s)\n", quoted)
	}
	fmt.Fprintf(&b, "\trequest, err := http.NewRequest(%q, %q, %s)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n", r.method, r.url, body)
	for _, h := range r.headers() {
		fmt.Fprintf(&b, "\trequest.Header.Set(%q, %q)\n", h[0], h[1])
	}
	b.WriteString("\tresponse, err := http.DefaultClient.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n" +
		"\tdefer response.Body.Close()\n\tfmt.Println(response.Status)\n\tio.Copy(os.Stdout, response.Body)\n")
	return "package main\n\nimport (\n\t\"" + strings.Join(imports, "\"\n\t\"") + "\"\n)\n\nfunc main() {\n" + b.String() + "}", nil
}

func (r request) typescript() (string, error) {
	var b strings.Builder
	if r.file != "" {
		b.WriteString("import { readFile } from \"node:fs/promises\";\n\n")
	}
	fmt.Fprintf(&b, "const response: Response = await fetch(%q", r.url)
	var options []string
	if r.method != http.MethodGet {
		options = append(options, fmt.Sprintf("  method: %q,\n", r.method))
	}
	if headers := r.headers(); len(headers) > 0 {
		text := "  headers: {\n"
		for _, h := range headers {
			name := h[0]
			if strings.Contains(name, "-") {
				name = strconv.Quote(name)
			}
			text += fmt.Sprintf("    %s: %q,\n", name, h[1])
		}
		options = append(options, text+"  },\n")
	}
	if r.file != "" {
		options = append(options, fmt.Sprintf("  body: new Uint8Array(await readFile(%q)),\n", r.file))
	}
	if r.body != nil {
		text, err := exampleText(r.body)
		if err != nil {
			return "", err
		}
		if r.body.Kind == yaml.ScalarNode {
			quoted, err := json.Marshal(text)
			if err != nil {
				return "", err
			}
			text = string(quoted)
		} else {
			text = "JSON.stringify(" + strings.ReplaceAll(text, "\n", "\n  ") + ")"
		}
		options = append(options, "  body: "+text+",\n")
	}
	if len(options) > 0 {
		b.WriteString(", {\n" + strings.Join(options, "") + "}")
	}
	b.WriteString(");\nconst answer: string = await response.text();\n" +
		"if (!response.ok) throw new Error(`${response.status} ${answer}`);\nconsole.log(response.status, answer);")
	return b.String(), nil
}

func (r request) python() (string, error) {
	var b strings.Builder
	if r.body != nil && r.body.Kind != yaml.ScalarNode {
		b.WriteString("import json\n")
	}
	if r.file != "" {
		b.WriteString("import pathlib\n")
	}
	b.WriteString("import urllib.request\n\n")
	fmt.Fprintf(&b, "request = urllib.request.Request(\n    %q,\n", r.url)
	if r.method != http.MethodGet {
		fmt.Fprintf(&b, "    method=%q,\n", r.method)
	}
	if headers := r.headers(); len(headers) > 0 {
		b.WriteString("    headers={\n")
		for _, h := range headers {
			fmt.Fprintf(&b, "        %q: %q,\n", h[0], h[1])
		}
		b.WriteString("    },\n")
	}
	if r.file != "" {
		fmt.Fprintf(&b, "    data=pathlib.Path(%q).read_bytes(),\n", r.file)
	}
	if r.body != nil {
		literal, err := pythonLiteral(r.body, "    ")
		if err != nil {
			return "", err
		}
		if r.body.Kind != yaml.ScalarNode {
			literal = "json.dumps(" + literal + ")"
		}
		fmt.Fprintf(&b, "    data=%s.encode(),\n", literal)
	}
	b.WriteString(")\nwith urllib.request.urlopen(request) as response:\n    print(response.status, response.read().decode())")
	return b.String(), nil
}

// pythonLiteral returns a value as an expression in Python.
func pythonLiteral(n *yaml.Node, indent string) (string, error) {
	var lines []string
	inner := indent + "    "
	switch n.Kind {
	case yaml.MappingNode:
		for name, value := range members(n) {
			literal, err := pythonLiteral(value, inner)
			if err != nil {
				return "", err
			}
			lines = append(lines, fmt.Sprintf("%s%q: %s,\n", inner, name, literal))
		}
		return "{\n" + strings.Join(lines, "") + indent + "}", nil
	case yaml.SequenceNode:
		for _, item := range n.Content {
			literal, err := pythonLiteral(item, inner)
			if err != nil {
				return "", err
			}
			lines = append(lines, literal)
		}
		return "[" + strings.Join(lines, ", ") + "]", nil
	}
	text, err := compactJSON(n)
	if literal, found := map[string]string{"true": "True", "false": "False", "null": "None"}[text]; found {
		return literal, err
	}
	return text, err
}
