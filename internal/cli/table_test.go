package cli

import (
	"errors"
	"strings"
	"testing"
)

// The columns of rows that are printed together are aligned. A long value in the last column does not affect the
// others.
func TestTableAlignsColumns(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	list := newTable(&out, "ID", "STATUS", "NAME")
	list.add("7", "-", strings.Repeat("小", 200))
	list.add("1000", "available", "a\tb")
	err := list.flush()
	list.add("10000", "sold", "")
	list.add("3", "sold", "Rex")
	err = errors.Join(err, list.flush())
	want := "ID     STATUS      NAME\n" +
		"7      -           " + strings.Repeat("小", 200) + "\n" +
		"1000   available   a\\u0009b\n" +
		"10000   sold\n" +
		"3       sold        Rex\n"
	if err != nil || out.String() != want {
		t.Errorf("got %v,\n%s\nwant\n%s", err, out.String(), want)
	}
}

// Columns are aligned although wide characters and joined emoji take up two columns on a terminal, and combining
// marks take up none.
func TestTableAlignsWideCharacters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	list := newTable(&out, "NAME", "STATUS")
	for _, name := range []string{"Rex", "小白", "ポチ", "바둑이", "🐶", "Zoe\u0308", "ﾎﾟﾁ", "Ａ", "Søren", "কাকা",
		"\u1107\u1161\u1103\u116e\u11a8", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "🏳\ufe0f\u200d🌈", "❤\ufe0f"} {
		list.add(name, "sold")
	}
	err := list.flush()
	want := "NAME     STATUS\n" +
		"Rex      sold\n" +
		"小白     sold\n" +
		"ポチ     sold\n" +
		"바둑이   sold\n" +
		"🐶       sold\n" +
		"Zoe\u0308      sold\n" +
		"ﾎﾟﾁ      sold\n" +
		"Ａ       sold\n" +
		"Søren    sold\n" +
		"কাকা     sold\n" +
		"\u1107\u1161\u1103\u116e\u11a8     sold\n" +
		"👩\u200d👩\u200d👧       sold\n" +
		"👍🏽       sold\n" +
		"🇩🇪       sold\n" +
		"🏳\ufe0f\u200d🌈       sold\n" +
		"❤\ufe0f       sold\n"
	if err != nil || out.String() != want {
		t.Errorf("got %v,\n%s\nwant\n%s", err, out.String(), want)
	}
}
