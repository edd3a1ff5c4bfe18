package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// A line of a request that went well is what slog's own handler would have written.
func TestLine(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	principal, err := s.service.Authenticate(t.Context(), s.key(shop.PetsRead))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/pets", "/v1/pets/7", "", "/v1/a b", `/v1/a"b`, `/v1/a\b`, "/v1/a=b", "/v1/a\nb", "/v1/ä", "/v1/\x7f\x00", "/v1/" + strings.Repeat("x", 500)} {
		for _, parent := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.URL.Path, r.RemoteAddr = path, "[::1]:4711"
			if parent != "" {
				r.Header.Set("Traceparent", parent)
			}
			c := &call{w: &recorder{status: 200, bytes: 1234}, r: r, id: "abcdefgh", principal: principal}
			var plain, quick bytes.Buffer
			slow := *s.api
			slow.Log = slog.New(slog.NewTextHandler(&plain, nil))
			fast := slow
			fast.Lines = &quick
			for _, at := range []time.Time{time.Now(), time.Now().UTC(), time.Unix(1e9, 0), time.Unix(1e9, 999_999_999), time.Unix(1e9+1, 7_000_000)} {
				plain.Reset()
				quick.Reset()
				slow.note(c, at, 1234567*time.Nanosecond, nil)
				fast.note(c, at, 1234567*time.Nanosecond, nil)
				if plain.String() != quick.String() {
					t.Errorf("got  %swant %s", &quick, &plain)
				}
			}
		}
	}
}

// FuzzLine: whatever a text holds, a line of the log stays one line, and its words stay apart.
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
