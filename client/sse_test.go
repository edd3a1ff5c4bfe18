package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// read reads a stream to its end and describes each message in one string.
func read(in io.Reader) (described []string, retry time.Duration, err error) {
	s := newSSEReader(in)
	for {
		b, err := s.next()
		if err != nil {
			return described, s.retry, err
		}
		described = append(described, describe(b.name, b.id, string(b.data), b.hasData))
	}
}

func describe(name, id, data string, hasData bool) string {
	if !hasData {
		return fmt.Sprintf("id %q", id) // without data, the name is ignored
	}
	return fmt.Sprintf("id %q name %q data %q", id, name, data)
}

// readReference is a simple implementation of read. The tests check that both give the same results.
func readReference(text string) (described []string, retry time.Duration) {
	text = strings.TrimPrefix(text, "\uFEFF")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	var name, data, id string
	retry = -1
	for _, line := range lines[:len(lines)-1] { // without the last line, which is incomplete
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			described = append(described, describe(name, id, strings.TrimSuffix(data, "\n"), data != ""))
			name, data = "", ""
		case field == "event":
			name = value
		case field == "data":
			data += value + "\n"
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "":
			millis := int64(0)
			for _, digit := range value {
				if millis = millis*10 + int64(digit-'0'); millis > math.MaxInt64/int64(time.Millisecond) {
					millis = math.MaxInt64 / int64(time.Millisecond)
					break
				}
			}
			retry = time.Duration(millis) * time.Millisecond
		}
	}
	return described, retry
}

var streams = []struct {
	name, text string
	want       []string
}{
	{"nothing", "", nil},
	{"an event", "id: 7\ndata: x\n\n", []string{`id "7" name "" data "x"`}},
	{"no space", "id:7\ndata:x\n\n", []string{`id "7" name "" data "x"`}},
	{"two spaces", "data:  x\n\n", []string{`id "" name "" data " x"`}},
	{"a tab", "data:\tx\n\n", []string{`id "" name "" data "\tx"`}},
	{"a colon in the value", "data: a:b\n\n", []string{`id "" name "" data "a:b"`}},
	{"several lines", "data: a\ndata\ndata: b\n\n", []string{`id "" name "" data "a\n\nb"`}},
	{"empty data", "data\n\n", []string{`id "" name "" data ""`}},
	{"two lines of empty data", "data:\ndata:\n\n", []string{`id "" name "" data "\n"`}},
	{"a name", "event: reset\ndata: x\n\ndata: y\n\n", []string{`id "" name "reset" data "x"`, `id "" name "" data "y"`}},
	{"a name without data", "event: reset\n\ndata: x\n\n", []string{`id ""`, `id "" name "" data "x"`}},
	{"the last name counts", "event: a\nevent: b\nevent\ndata: x\n\n", []string{`id "" name "" data "x"`}},
	{"an id without data", "id: 7\n\ndata: x\n\n", []string{`id "7"`, `id "7" name "" data "x"`}},
	{"an id persists", "id: 7\ndata: x\n\ndata: y\n\n", []string{`id "7" name "" data "x"`, `id "7" name "" data "y"`}},
	{"an empty id", "id: 7\n\nid\n\n", []string{`id "7"`, `id ""`}},
	{"an id with a NUL", "id: 7\n\nid: 8\x009\n\n", []string{`id "7"`, `id "7"`}},
	{"comments", ": hello\n:\n:data: x\n\n", []string{`id ""`}},
	{"unknown fields", "Data: x\n data: x\nfoo\nfoo: bar\n\n", []string{`id ""`}},
	{"line feeds", "data: a\n\ndata: b\n\n", []string{`id "" name "" data "a"`, `id "" name "" data "b"`}},
	{"carriage returns", "data: a\r\rdata: b\r\r", []string{`id "" name "" data "a"`, `id "" name "" data "b"`}},
	{"CR LF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{`id "" name "" data "a"`, `id "" name "" data "b"`}},
	{"mixed line endings", "data: a\r\ndata: b\rdata: c\n\r\n", []string{`id "" name "" data "a\nb\nc"`}},
	{"LF CR", "data: a\n\rdata: b\n\r", []string{`id "" name "" data "a"`, `id "" name "" data "b"`}},
	{"a byte order mark", "\uFEFFdata: x\n\n", []string{`id "" name "" data "x"`}},
	{"two byte order marks", "\uFEFF\uFEFFdata: x\n\n", []string{`id ""`}},
	{"a byte order mark later", "data: x\n\n\uFEFFdata: y\n\n", []string{`id "" name "" data "x"`, `id ""`}},
	{"a byte order mark before an empty line", "\uFEFF\ndata: x\n\n", []string{`id ""`, `id "" name "" data "x"`}},
	{"half a byte order mark", "\xEF\xBBdata: x\n\n", []string{`id ""`}},
	{"invalid UTF-8", "data: \xFF\n\n", []string{`id "" name "" data "\xff"`}},
	{"an event without end", "data: x\n\nid: 7\ndata: y\n", []string{`id "" name "" data "x"`}},
	{"a line without end", "data: x\n\nid: 7", []string{`id "" name "" data "x"`}},
	{"like the service", "retry: 2000\nid: 6\n\nid: 7\ndata: {}\n\n:\n\n:\nid: 9\n\n",
		[]string{`id "6"`, `id "7" name "" data "{}"`, `id "7"`, `id "9"`}},
}

func TestReadSSE(t *testing.T) {
	t.Parallel()
	for _, c := range streams {
		got, _, err := read(strings.NewReader(c.text))
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") || err != io.EOF {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestSSERetryField(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64 / time.Millisecond * time.Millisecond
	for text, want := range map[string]time.Duration{
		"2000": 2 * time.Second, "0": 0, "007": 7 * time.Millisecond, "99999999999999999999": most,
		"9223372036854775807": most, "": -1, "-1": -1, "+1": -1, "1.5": -1, "1e3": -1, " 1": -1, "1 ": -1, "٣": -1, "1_000": -1,
	} {
		if _, got, _ := read(strings.NewReader("retry: " + text + "\n")); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// A line ends at a CR, because waiting for an LF would delay the event.
func TestSSELineEndsAtCarriageReturn(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	s := newSSEReader(in)
	for _, part := range []string{"data: x\r\r", "\ndata: y\r\n\r", "\n\n"} {
		go out.Write([]byte(part))
		if _, err := s.next(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSSESizeLimits(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", maxMessage-len("data:"))
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"a line", "data:" + full + "\n\n", true},
		{"a line that is too long", "data:" + full + "x\n\n", false},
		{"a line without end", full + full, false},
		{"a comment that is too long", ":" + full + "xxxxx\n\n", false},
		{"lines that are too long together", "data:" + full + "\ndata: 123456\n\n", false},
		{"consecutive events", "data:" + full + "\n\ndata:" + full + "\n\n", true},
		{"many comments", strings.Repeat(":"+full[:1000]+"\n", 1100) + "\n", true},
	} {
		s := newSSEReader(strings.NewReader(c.text))
		var err error
		for err == nil {
			_, err = s.next()
		}
		if (err == io.EOF) != c.ok || !c.ok && !errors.Is(err, errTooLarge) {
			t.Errorf("%s: got %v", c.name, err)
		}
		if n := cap(s.line) + cap(s.data); n > 4*maxMessage {
			t.Errorf("%s: keeps %d bytes", c.name, n)
		}
	}
}

func FuzzSSE(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.text), len(c.text)/2)
		f.Add([]byte(strings.ReplaceAll(c.text, "\n", "\r\n")), 1)
	}
	f.Add([]byte("retry: 18446744073709551616\n\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		if len(text) > maxMessage {
			return
		}
		want, wantRetry := readReference(string(text))
		cut = max(0, min(cut, len(text)))
		for name, in := range map[string]io.Reader{
			"as a whole":    bytes.NewReader(text),
			"in two parts":  io.MultiReader(bytes.NewReader(text[:cut]), bytes.NewReader(text[cut:])),
			"byte by byte":  iotest.OneByteReader(bytes.NewReader(text)),
			"in halves":     iotest.HalfReader(bytes.NewReader(text)),
			"with its end":  iotest.DataErrReader(bytes.NewReader(text)),
			"up to the cut": io.LimitReader(bytes.NewReader(text), int64(cut)),
		} {
			got, retry, err := read(in)
			if name == "up to the cut" { // later data must not change earlier messages
				if len(got) > len(want) || strings.Join(got, "\n") != strings.Join(want[:len(got)], "\n") {
					t.Errorf("%s: got %q, want the start of %q", name, got, want)
				}
				continue
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") || retry != wantRetry || err != io.EOF {
				t.Errorf("%s: got %q, %v, %v, want %q, %v", name, got, retry, err, want, wantRetry)
			}
		}
	})
}
