package apidocs

import (
	"html/template"
	"regexp"
	"strings"
)

// tokens matches, for each language, the parts of code that are shown in colour: strings, comments and the most
// important keywords.
var (
	quoted = "\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`[^`]*`"
	tokens = map[string]*regexp.Regexp{
		"curl":       regexp.MustCompile(`(?P<s>` + quoted + `)|(?P<c>(?m:^|\s)#[^\n]*)|(?P<k>\b(?:curl|while|do|done|for|in|if|then|fi|export|read)\b)`),
		"go":         regexp.MustCompile(`(?P<s>` + quoted + `)|(?P<c>//[^\n]*)|(?P<k>\b(?:package|import|func|if|return|defer|for|range|var|type|nil)\b)`),
		"typescript": regexp.MustCompile(`(?P<s>` + quoted + `)|(?P<c>//[^\n]*)|(?P<k>\b(?:import|from|export|const|await|async|function|if|throw|new|return|for|of)\b)`),
		"python":     regexp.MustCompile(`(?P<s>` + quoted + `)|(?P<c>#[^\n]*)|(?P<k>\b(?:import|from|def|with|as|if|not|raise|return|for|in|True|False|None|any)\b)`),
		"json":       regexp.MustCompile(`(?P<k>"(?:\\.|[^"\\\n])*"\s*:)|(?P<s>"(?:\\.|[^"\\\n])*")`),
	}
	aliases = map[string]string{"sh": "curl", "console": "curl", "ts": "typescript", "java": "go"}
)

// highlight returns code as HTML with syntax colours. It marks the base URL and the key, which are replaced later. Code
// in an unknown language is returned without colours.
func highlight(code, language string) template.HTML {
	if alias := aliases[language]; alias != "" {
		language = alias
	}
	var b strings.Builder
	end := 0
	if pattern := tokens[language]; pattern != nil {
		names := pattern.SubexpNames()
		for _, match := range pattern.FindAllStringSubmatchIndex(code, -1) {
			for i := 1; i < len(names); i++ {
				if match[2*i] >= 0 {
					b.WriteString(escape(code[end:match[0]]) + `<span class="` + names[i] + `">` + escape(code[match[0]:match[1]]) + `</span>`)
					end = match[1]
				}
			}
		}
	}
	b.WriteString(escape(code[end:]))
	return template.HTML(b.String())
}

var fillIns = strings.NewReplacer(baseURL, `<span class="fill-base">`+baseURL+`</span>`, yourKey, `<span class="fill-key">`+yourKey+`</span>`)

func escape(code string) string { return fillIns.Replace(template.HTMLEscapeString(code)) }
