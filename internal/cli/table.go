package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/width"
)

// table prints rows with aligned columns. The last column is not padded, so it can hold text of any length.
// Rows are dropped once they have been flushed, so a table can have any number of rows.
type table struct {
	out    io.Writer
	color  bool     // color the header and the statuses
	header []string // nil once the header is printed
	status int      // the column that contains statuses, or -1
	widths []int
	rows   [][]string
}

// newTable returns a table. If there is a header, it is printed with the first rows.
func newTable(out io.Writer, header ...string) *table {
	t := &table{out: out, header: header, status: slices.Index(header, "STATUS")}
	if len(header) > 0 {
		t.add(header...)
	}
	return t
}

func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = escapeControls(cell)
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], displayWidth(cells[i]))
	}
	t.rows = append(t.rows, cells)
}

// flush prints the rows that were added since the last flush.
func (t *table) flush() error {
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(t.paint(i, cell))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", t.widths[i]-displayWidth(cell)+3))
			}
		}
		if _, err := fmt.Fprintln(t.out, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
		t.header = nil
	}
	t.rows = t.rows[:0]
	return nil
}

// paint returns a cell of the next row with its color.
func (t *table) paint(column int, cell string) string {
	style := ""
	switch {
	case !t.color:
	case len(t.header) > 0:
		style = bold
	case column == t.status:
		style = statusColors[cell]
	}
	if style == "" {
		return cell
	}
	return style + cell + reset
}

// displayWidth returns the number of columns that a text takes up on a terminal. A group of characters that looks
// like one, such as a family of joined emoji, a flag or a Hangul syllable of several letters, takes up at most two
// columns.
func displayWidth(text string) (columns int) {
	if utf8.RuneCountInString(text) == len(text) {
		return len(text) // ASCII, like most of the texts in a long list
	}
	for clusters := uniseg.NewGraphemes(text); clusters.Next(); {
		cluster := 0
		for _, r := range clusters.Runes() {
			cluster += runeWidth(r)
		}
		columns += min(cluster, 2)
	}
	return columns
}

// runeWidth returns the width of a single rune. Chinese, Japanese and Korean characters and emoji take up two
// columns. Combining marks and joiners take up none.
func runeWidth(r rune) int {
	kind := width.LookupRune(r).Kind()
	switch {
	case r == emojiStyle:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// emojiStyle is the character that turns a narrow character before it, such as ❤, into a wide emoji.
const emojiStyle = '\uFE0F'

// minWidths sets the minimum widths of the first columns.
func (t *table) minWidths(widths ...int) {
	for i, least := range widths {
		t.widths[i] = max(t.widths[i], least)
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
