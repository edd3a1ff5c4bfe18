package staff

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// count formats a number with a noun, such as "1 animal" or "2 animals".
func count(n any, noun string) string { return formatNumber(n) + " " + plural(n, noun) }

// countHTML is like count, but returns HTML in which locale.js can show the number in the reader's language.
func countHTML(n any, noun string) template.HTML {
	return numberHTML(n) + " " + template.HTML(template.HTMLEscapeString(plural(n, noun)))
}

func plural(n any, noun string) string {
	if fmt.Sprint(n) == "1" {
		return noun
	}
	return noun + "s"
}

// formatTime formats a time so that everybody understands it, such as "2 Jan 2026, 15:04 CET". The script locale.js
// replaces it with the format of the reader's language.
func formatTime(t time.Time) string {
	zone := t.Format("MST")
	if strings.ContainsAny(zone[:1], "+-") { // a zone without a short name
		zone = "UTC" + zone
	}
	return t.Format("2 Jan 2006, 15:04 ") + zone
}

// capitalized begins a text with a capital letter.
func capitalized(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// sentence begins a text with a capital letter and ends it with a full stop.
func sentence(text string) string { return capitalized(text) + "." }

// numberHTML formats an integer. The script locale.js replaces it with the format of the reader's language.
func numberHTML(n any) template.HTML {
	text := formatNumber(n)
	if plain := fmt.Sprint(n); plain != text {
		text = `<data value="` + plain + `">` + text + `</data>`
	}
	return template.HTML(text)
}

// formatNumber formats an integer with its digits in groups of three.
func formatNumber(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u2009" + text[i:] // groups are separated by a thin space
	}
	return text
}
