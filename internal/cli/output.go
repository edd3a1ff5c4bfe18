package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// outputFlag holds the flag that selects the output format for commands that print resources.
type outputFlag struct {
	Output string `short:"o" enum:"table,json" default:"table" placeholder:"FORMAT" help:"table, or json with one object per line, as in the API (default ${default})."`
}

func (o outputFlag) isJSON() bool { return o.Output == "json" }

// printResult prints a resource as JSON or a sentence about the resource, depending on the output format.
func (o outputFlag) printResult(t terminal, thing any, format string, args ...any) error {
	if o.isJSON() {
		return printJSON(t.out, thing)
	}
	_, err := fmt.Fprintln(t.out, escapeControls(fmt.Sprintf(format, args...)))
	return err
}

// printDone prints a sentence about a resource that no longer exists. It prints nothing if the output format
// is JSON.
func (o outputFlag) printDone(t terminal, format string, args ...any) error {
	if o.isJSON() {
		return nil
	}
	return o.printResult(t, nil, format, args...)
}

// printFields prints a resource as JSON or as lines, each with a name and a value.
func (o outputFlag) printFields(t terminal, thing any, lines ...[]string) error {
	if o.isJSON() {
		return printJSON(t.out, thing)
	}
	list := newTable(t.out)
	for _, line := range lines {
		list.add(line...)
	}
	return list.flush()
}

// printer prints resources as the rows of a table or as lines of JSON.
type printer[T any] struct {
	out   *bufio.Writer
	table *table // nil if the output format is JSON
	row   func(T) []string
}

func newPrinter[T any](t terminal, o outputFlag, row func(T) []string, header ...string) *printer[T] {
	p := &printer[T]{out: bufio.NewWriter(t.out), row: row}
	if !o.isJSON() {
		p.table = newTable(p.out, header...)
		p.table.color = wantsColor(t.out)
	}
	return p
}

func (p *printer[T]) print(thing T) error {
	if p.table == nil {
		return printJSON(p.out, thing)
	}
	p.table.add(p.row(thing)...)
	return nil
}

func (p *printer[T]) flush() error {
	if p.table != nil {
		if err := p.table.flush(); err != nil {
			return err
		}
	}
	return p.out.Flush()
}

// printJSON writes a value as one line of JSON. The JSON is the same as in the API, but control characters
// are escaped.
func printJSON(to io.Writer, thing any) error {
	var line strings.Builder
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(thing); err != nil {
		return err
	}
	_, err := fmt.Fprintln(to, escapeControls(strings.TrimSuffix(line.String(), "\n")))
	return err
}

// escapeControls escapes characters that could control a terminal or reverse the direction of the text around
// them. It uses JSON escapes, so that escaped JSON keeps its meaning.
func escapeControls(text string) string {
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	var seen strings.Builder
	for _, r := range text {
		if !isControl(r) {
			seen.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&seen, `\u%04x`, unit)
		}
	}
	return seen.String()
}

// isControl reports whether a character must be escaped. Joiners are not escaped, because Persian text and some emoji
// depend on them.
func isControl(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != nonJoiner && r != joiner
}

// count returns a number with its noun, such as "1 animal" or "2 animals".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
