package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// Characters that could control a terminal or reverse text are escaped. All other characters stay unchanged.
func TestControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Rex":                           "Rex",
		"Ñoño Жужа 小白":                  "Ñoño Жужа 小白",
		"a\\u009b":                      "a\\u009b",
		"\x1b[31mred\x07":               `\u001b[31mred\u0007`,
		"a\u009b2J\u0085\x7f":           `a\u009b2J\u0085\u007f`,
		"a\u202eb\u2066c\u200e":         `a\u202eb\u2066c\u200e`,
		"a\u2028b\ufeffc\u00ad":         `a\u2028b\ufeffc\u00ad`,
		"\U000e0001tag":                 `\udb40\udc01tag`,
		"👩\u200d🚀 علی\u200cرضا":         "👩\u200d🚀 علی\u200cرضا",
		"e\u0301 \u00a0 \u3000 ☃\ufe0f": "e\u0301 \u00a0 \u3000 ☃\ufe0f",
	} {
		if got := escapeControls(text); got != want {
			t.Errorf("escapeControls(%q) = %q, want %q", text, got, want)
		}
	}
}

// Escaping does not change the meaning of JSON.
func TestPrintedJSONDecodesToTheSame(t *testing.T) {
	t.Parallel()
	name := "<a href='x'>&\u009b2J\u202e\U000e0001 小白\""
	var line strings.Builder
	if err := printJSON(&line, map[string]string{"name": name}); err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"<a href='x'>&\u009b2J\u202e\udb40\udc01 小白\""}` + "\n"; line.String() != want {
		t.Errorf("got %s", line.String())
	}
	var back struct{ Name string }
	if err := json.Unmarshal([]byte(line.String()), &back); err != nil || back.Name != name {
		t.Errorf("%q was decoded as %q: %v", name, back.Name, err)
	}
}

// Columns are aligned, even if further rows are printed later. A long value in the last column does not move
// the other columns.
func TestTableAlignsColumns(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	list := newTable(&out, "ID", "STATUS", "NAME")
	list.add("7", "-", strings.Repeat("小", 200))
	list.add("1000", "available", "a\tb")
	if err := list.flush(); err != nil {
		t.Fatal(err)
	}
	list.add("10000", "sold", "")
	list.add("3", "sold", "Rex")
	if err := list.flush(); err != nil {
		t.Fatal(err)
	}
	want := "ID     STATUS      NAME\n" +
		"7      -           " + strings.Repeat("小", 200) + "\n" +
		"1000   available   a\\u0009b\n" +
		"10000   sold\n" +
		"3       sold        Rex\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

// A change is described in one line. For a created or deleted object, the line lists all fields. For an
// updated object, it lists only the fields that have changed.
func TestDescribeChange(t *testing.T) {
	t.Parallel()
	const rex = `{"id":1,"name":"Rex","categoryId":1}`
	for _, c := range []struct{ current, previous, want string }{
		{rex, "", "name Rex, categoryId 1"},
		{"", rex, "name Rex, categoryId 1"},
		{`{"id":1,"name":"Max","categoryId":1,"status":"sold"}`, rex, "name Rex → Max, status sold"},
		{rex, rex, ""},
		{`{"id":9,"name":"a, b","scopes":["admin","x"],"on":true,"expiresAt":"2027-01-31T18:00:00.123Z","createdAt":"2027-01-31T18:00:00Z"}`, "",
			`name "a, b", scopes admin x, on true, expiresAt 2027-01-31 18:00 UTC`},
		{"[1]", "", ""},
		{`{"name":`, "", ""},
		{"", "", ""},
	} {
		if got := describeChange([]byte(c.current), []byte(c.previous)); got != c.want {
			t.Errorf("from %[2]s to %[1]s: got %[3]q, want %[4]q", c.current, c.previous, got, c.want)
		}
	}
}
