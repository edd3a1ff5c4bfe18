package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzSettings checks that every value of a flag is either within the flag's limits or refused.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{"", "off", "1", "0", "-1", "1e3", "1000001", "720h", "59m", "1h", "-1h", "9999999h", "127.0.0.1:8080", ":0", "[::1]:65536", "x:01",
		"https://pets.example.com/v1", "https://a<b/v1", "https://x:443", "*", "https://shop.example.com", "2027-01-31", "2027-01-31T18:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseRate(text); err == nil && (n < 0 || n > 1_000_000 || n == 0 && text != "off") {
			t.Fatalf("%q is parsed as the rate %d", text, n)
		}
		if d, err := parseRetention(text); err == nil && (d != 0 && d < time.Hour || d == 0 && text != "off") {
			t.Fatalf("%q is parsed as the retention %v", text, d)
		}
		if at, err := parseTime(text); err == nil && at.IsZero() != (text == "") {
			t.Fatalf("%q is parsed as the time %v", text, at)
		}
		if err := checkBaseURL(text); err == nil && text != "" && !(strings.HasPrefix(text, "http") && strings.HasSuffix(text, "/v1") && !strings.ContainsAny(text, "<>\"?# ")) {
			t.Fatalf("%q is accepted as a base URL", text)
		}
		if err := checkOrigin(text); err == nil && text != "*" && (!strings.HasPrefix(text, "http") || strings.HasSuffix(text, "/") || strings.ContainsAny(text, "<>\"?#* ")) {
			t.Fatalf("%q is accepted as an origin", text)
		}
		if err := checkAddr(text); err == nil && !strings.Contains(text, ":") {
			t.Fatalf("%q is accepted as a listen address", text)
		}
	})
}

// FuzzDatabase checks that a server's password is never printed, whether the URL is accepted or refused.
func FuzzDatabase(f *testing.F) {
	for _, password := range []string{"hunter-2-the-secret", "p%40ss-word-secret", "a:b/c@d-secret-00", "secret-with-é-0000", "secret?x=y&z-0000", "secret#fragment-00", "secret with a space"} {
		f.Add("animalstore", password, "db1,db2", "animalstore?target_session_attrs=read-write")
		f.Add("", password, "", "?password="+password)
	}
	f.Fuzz(func(t *testing.T, user, password, host, rest string) {
		if len(password) < 12 || !utf8.ValidString(password) || strings.Contains(user+host+rest, password) {
			return // the password would be indistinguishable from the rest of the URL
		}
		for _, url := range []string{
			"postgres://" + user + ":" + password + "@" + host + "/" + rest,
			"postgresql://" + host + "/" + user + "?password=" + password,
			"postgres://" + host + "/" + user + "?sslmode=disable&sslpassword=" + password,
		} {
			err := checkDatabase(url, databaseVariable)
			if err != nil {
				if strings.Contains(err.Error(), password) {
					t.Fatalf("the error about %q contains the password: %v", url, err)
				}
				continue
			}
			if text := redact(url); strings.Contains(text, password) {
				t.Fatalf("%q is printed as %q", url, text)
			}
		}
	})
}
