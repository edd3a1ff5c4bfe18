package web

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The line that appendLine formats for a successful request is identical to the line that slog.TextHandler writes. Both
// contain the ids of the trace and the span.
func TestLineIsWhatSlogWrites(t *testing.T) {
	t.Parallel()
	service := shoptest.Open(t, shoptest.Options{})
	principal := shoptest.Must(service.Authenticate(t.Context(), shoptest.AdminKey))(t)
	var slow, fast bytes.Buffer
	log := slog.New(slog.NewTextHandler(&slow, nil))
	paths := []string{"/v1/pets", "", "/v1/a b", `/v1/a"b`, `/v1/a\b`, "/v1/a=b", "/v1/a\nb", "/v1/ä", "/v1/\x7f\x00",
		"/v1/" + strings.Repeat("x", 500), "/v1/" + shoptest.AdminKey}
	times := []time.Time{time.Now(), time.Now().UTC(), time.Unix(1e9, 0), time.Unix(1e9, 999_999_999)}
	for _, path := range paths {
		for _, traceparent := range []string{"", "00-" + traceID + "-" + spanID + "-01"} {
			for _, p := range []shop.Principal{{}, principal} {
				for _, end := range times {
					r := httptest.NewRequest("GET", "/", nil)
					r.URL.Path, r.RemoteAddr = path, "[::1]:4711"
					r.Header.Set("Traceparent", traceparent)
					slow.Reset()
					fast.Reset()
					e := Entry{
						Outcome: Outcome{Status: 200}, ID: "abcdefgh", Operation: "listPets", Request: r, Response: &Recorder{bytes: 1234},
						Principal: p, End: end, Took: 1234567 * time.Nanosecond,
					}
					(&AccessLog{Log: log, Redact: service.Redact}).Write(e)
					(&AccessLog{Log: log, Lines: &fast, Redact: service.Redact}).Write(e)
					traced := strings.Contains(slow.String(), " trace_id="+traceID+" span_id="+spanID)
					if slow.String() != fast.String() || slow.Len() == 0 || traced != (traceparent != "") {
						t.Errorf("got  %swant %sand a trace: %v", &fast, &slow, traceparent != "")
					}
				}
			}
		}
	}
}

// A long error is cut off in the log. API keys are removed first, so that no part of a key remains.
func TestLongErrorsAreCutOff(t *testing.T) {
	t.Parallel()
	const key = "a-key-that-is-cut-in-two"
	redact := func(text string) string { return strings.ReplaceAll(text, key, "***") }
	var out bytes.Buffer
	log := &AccessLog{Log: slog.New(slog.NewTextHandler(&out, nil)), Redact: redact}
	for _, c := range []struct{ text, want string }{
		{strings.Repeat("x", maxErrorText), strings.Repeat("x", maxErrorText)},
		{strings.Repeat("x", maxErrorText+1), strings.Repeat("x", maxErrorText) + "..."},
		{"x" + strings.Repeat("ä", maxErrorText), "x" + strings.Repeat("ä", maxErrorText/2-1) + "..."},
		{strings.Repeat("\x80", 2*maxErrorText), "..."},
		{strings.Repeat("x", maxErrorText-3) + key, strings.Repeat("x", maxErrorText-3) + "***"},
		{strings.Repeat("x", 1_000_000), strings.Repeat("x", maxErrorText) + "..."},
	} {
		out.Reset()
		log.Write(Entry{Outcome: Outcome{Status: 400, Err: errors.New(c.text)}, Request: httptest.NewRequest("GET", "/", nil), Response: &Recorder{}})
		if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), " error="); got != c.want {
			t.Errorf("an error of %d bytes is logged as %q", len(c.text), got)
		}
	}
}

// FuzzLine checks that a log entry always stays on one line and that a text with spaces is quoted,
// whatever the client sends.
func FuzzLine(f *testing.F) {
	for _, text := range []string{"", "plain", "a b", "a\nlevel=ERROR msg=\"all is lost\"", "\x1b[2J", `a"b=c`, "\xff\xfe", "\u2028", "\u202eabc", "\x7f"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := string(append(appendText(nil, "text=", text), " status=200\n"...))
		if strings.Count(line, "\n") != 1 || strings.ContainsFunc(line[:len(line)-1], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q is written as %q", text, line)
		}
		if word := strings.TrimSuffix(strings.TrimPrefix(line, "text="), " status=200\n"); strings.Contains(word, " ") && !strings.HasPrefix(word, `"`) {
			t.Fatalf("%q is written as %q", text, line)
		}
	})
}

// FuzzLogText checks that Printable returns a text of limited length in printable ASCII, whatever the
// client sends. A short text without special characters or API keys must stay unchanged.
func FuzzLogText(f *testing.F) {
	log := &AccessLog{Redact: (&shop.Service{}).Redact}
	for _, text := range []string{"GET", "/v1/pets", "a\nb", "\x1b[2J", "<script>", "ask_live_0123456789", strings.Repeat("x", 300), "\xff", "é\u2028", `"`, "\u202e"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := log.Printable(text)
		if len(got) > 4*210 || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q is written as %q", text, got)
		}
		isPlain := !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
		if isPlain && len(text) <= 200 && !strings.Contains(text, "ask_") && got != text {
			t.Fatalf("%q is written as %q", text, got)
		}
	})
}

// A key that a client puts in the wrong place, such as the path, does not end up in the log.
func TestKeysAreNotLogged(t *testing.T) {
	t.Parallel()
	const secret = "ask_live_0123456789ABCDEFGHIJKLMNOPQRST_000000"
	var log bytes.Buffer
	access := &AccessLog{Log: slog.New(slog.NewTextHandler(&log, nil)), Redact: (&shop.Service{}).Redact}
	for name, e := range map[string]Entry{
		"a request":        {Outcome: Outcome{Status: 200}},
		"a failed request": {Outcome: Outcome{Status: 500, Err: errors.New("cannot use " + secret)}},
	} {
		for _, lines := range []io.Writer{nil, &log} {
			log.Reset()
			access.Lines = lines
			e.Request = httptest.NewRequest("GET", "/v1/pets/"+secret, nil)
			e.Request.Method = secret
			e.Response = &Recorder{}
			access.Write(e)
			if got := log.String(); strings.Contains(got, "ABCDEFGH") || strings.Count(got, "ask_live_REDACTED") < 2 {
				t.Errorf("%s is logged as %s", name, got)
			}
		}
	}
}
