package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInvalidSettingsAreRefused passes invalid values in flags and in environment variables. For each value,
// the program must exit with a one-line error that names the flag or variable and must not write any files.
func TestInvalidSettingsAreRefused(t *testing.T) {
	t.Parallel()
	baseURLs := []string{
		"pets.example.com/v1", "//pets.example.com/v1", "/v1", "https://pets.example.com", "https://pets.example.com/",
		"https://pets.example.com/v1/", "https://pets.example.com/v2", "https://pets.example.com/xv1", "ftp://pets.example.com/v1", "https:///v1",
		"https://:443/v1", "https://me@pets.example.com/v1", "https://pets.example.com/v1?a=b",
		"https://pets.example.com/v1#a", "https://pets example.com/v1", "https://pets.example.com/%zz/v1",
		"https://pets.example.com>/v1", // ">" would end the URL in a Link header
	}
	tests := []struct {
		flag, variable string
		values         []string
	}{
		{"--addr", "ANIMALSTORE_ADDR", []string{
			"8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:080", "127.0.0.1:80:80", "[::1:80", "::1:80",
		}},
		{"--database", "ANIMALSTORE_DATABASE", []string{
			"postgres://shop:secret@db.example.com:x/shop", "postgresql://shop:secret@db.example.com/shop?sslmode=maybe", ":memory:", "file:a.db", "sqlite://a.db",
			"mysql://shop:secret@db.example.com/shop", "postgres:/shop:secret@db.example.com/shop", "postgresql:shop:secret@db.example.com",
			"host=db.example.com password=secret dbname=shop", "postgres://shop:top@secret@db.example.com/shop",
			"postgres://shop:top@db1.example.com,secret@db2.example.com/shop",
		}},
		{"--environment", "ANIMALSTORE_ENVIRONMENT", []string{"prod", "Production", "STAGING", "production,staging"}},
		{"--public-url", "ANIMALSTORE_PUBLIC_URL", baseURLs},
		{"--staging-url", "ANIMALSTORE_STAGING_URL", baseURLs},
		{"--cors-origin", "ANIMALSTORE_CORS_ORIGIN", []string{
			"shop.example.com", "https://shop.example.com/", "https://shop.example.com/a", "https://shop.example.com?a", "null",
			"ftp://shop.example.com", "https://me@shop.example.com", "https://*.example.com", "https://shop.example.com,elsewhere",
		}},
		{"--api-date", "ANIMALSTORE_API_DATE", []string{
			"tomorrow", "2030-13-01", "2030-02-30", "2030-12-5", "05.12.2030", "2030-12-05T00:00:00Z",
		}},
		{"--event-retention", "ANIMALSTORE_EVENT_RETENTION", []string{
			"never", "0", "-1h", "59m", "3600", "720", "30d", "1h ", "300000000h",
		}},
		{"--max-connections", "ANIMALSTORE_MAX_CONNECTIONS", []string{"0", "-1", "many", "1e4", "10000000000000000000"}},
		{"--tls-cert", "ANIMALSTORE_TLS_CERT", []string{"alone.pem"}},
		{"--tls-key", "ANIMALSTORE_TLS_KEY", []string{"alone.pem"}},
		{"--webhook-allow-private", "ANIMALSTORE_WEBHOOK_ALLOW_PRIVATE", []string{"maybe", "2"}},
		{"--demo", "ANIMALSTORE_DEMO", []string{"maybe", "2"}},
	}
	for _, test := range tests {
		t.Run(test.flag, func(t *testing.T) {
			t.Parallel()
			for _, value := range test.values {
				t.Run(value, func(t *testing.T) {
					expectUsageError(t, newFolder(t), test.flag, "serve", test.flag+"="+value)
					r := expectUsageError(t, newFolder(t, test.variable+"="+value), "", "serve")
					if !strings.Contains(r.stderr, test.flag) && !strings.Contains(r.stderr, test.variable) {
						t.Errorf("%q names neither %s nor %s", r.stderr, test.flag, test.variable)
					}
					if strings.Contains(r.stderr, "secret") {
						t.Errorf("the password is in the error message %q", r.stderr)
					}
				})
			}
		})
	}
}

// TestFlagsWithoutValuesAreRefused passes flags without the values that they require. Environment variables
// may be empty because an empty variable counts as unset.
func TestFlagsWithoutValuesAreRefused(t *testing.T) {
	t.Parallel()
	for flag := range strings.FieldsSeq("--addr= --database= --environment= --addr --database --environment --public-url " +
		"--staging-url --api-key-file --cors-origin --api-date --event-retention= --event-retention --tls-cert --tls-key --max-connections") {
		t.Run(flag, func(t *testing.T) {
			expectUsageError(t, newFolder(t), strings.TrimSuffix(flag, "="), "serve", flag)
		})
	}
}

// TestInvalidConfiguredKeysAreRefusedAndHidden configures invalid API keys. The error message must not
// contain the key.
func TestInvalidConfiguredKeysAreRefusedAndHidden(t *testing.T) {
	t.Parallel()
	keys := map[string]string{
		"short":              "fifteen-letters",
		"control characters": "a-key-with-a\x07-bell-in-it",
		"two lines":          "a-key-that-goes-on\non-the-next-line",
		"space":              "a key made of words",
		"not ASCII":          "ein-schlüssel-mit-umlaut",
	}
	for name, key := range keys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := newFolder(t).write("key", key+"\n")
			for _, r := range []result{
				expectUsageError(t, newFolder(t), "--api-key-file", "serve", "--api-key-file", file),
				expectUsageError(t, newFolder(t, "ANIMALSTORE_API_KEY="+key), "ANIMALSTORE_API_KEY", "serve"),
			} {
				if strings.Contains(r.stderr, key[:8]) {
					t.Errorf("the key is in the error message %q", r.stderr)
				}
			}
		})
	}
	other := newFolder(t)
	for _, file := range []string{other.path("missing"), other.write("empty", ""), other.write("blank", " \n"), other.dir} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			expectUsageError(t, newFolder(t), "--api-key-file", "serve", "--api-key-file", file)
		})
	}
}

func TestInvalidCommandsAreRefused(t *testing.T) {
	t.Parallel()
	for names, args := range map[string][]string{
		"--frobnicate": {"serve", "--frobnicate"},
		"frobnicate":   {"frobnicate"},
		"extra":        {"serve", "extra"},
		"mend":         {"keys", "mend"},
		"--name":       {"keys", "create"},
		"--api-key":    {"serve", "--api-key", adminKey}, // the key would appear in the process list
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) { expectUsageError(t, newFolder(t), names, args...) })
	}
}

// TestIncompleteCommandsListSubcommands runs the program without a command and with only the first word of a
// two-word command.
func TestIncompleteCommandsListSubcommands(t *testing.T) {
	t.Parallel()
	for words, args := range map[string][]string{
		"serve pets orders keys import --help": {},
		"create list rotate revoke":            {"keys"},
		"list show add set remove":             {"pets"},
		"list add set remove":                  {"categories"},
		"list show place approve cancel":       {"orders"},
	} {
		f := newFolder(t)
		r := f.run(args...)
		if r.code != 2 || r.stdout != "" || strings.Count(r.stderr, "Usage:") != 1 || len(f.names()) != 0 {
			t.Errorf("%q: got %v, want exit code 2 and the usage on stderr, and no files", args, r)
		}
		for word := range strings.FieldsSeq(words) {
			if !strings.Contains(r.stderr, word) {
				t.Errorf("%q: the output does not contain %q:\n%s", args, word, r.stderr)
			}
		}
	}
}

// expectUsageError runs the program and checks that the exit code is 2, that the error message contains
// names, and that no files were created.
func expectUsageError(t *testing.T, f *folder, names string, args ...string) result {
	t.Helper()
	f.variables = slices.Insert(f.variables, 0, "ANIMALSTORE_ADDR="+takenAddr(t))
	r := f.run(args...)
	expectRefusal(t, r, 2, names)
	if names := f.names(); len(names) != 0 {
		t.Errorf("files: got %q, want none", names)
	}
	return r
}

func TestHelpAndVersionPrintToStdout(t *testing.T) {
	t.Parallel()
	for words, args := range map[string][]string{
		"serve keys version":      {"--help"},
		"--addr ANIMALSTORE_ADDR": {"serve", "--help"},
		"create":                  {"keys", "--help"},
		"--scope pets:read":       {"keys", "create", "--help"},
		"Usage":                   {"version", "--help"},
		"animalstore go1":         {"version"},
	} {
		r := newFolder(t).run(args...)
		if r.code != 0 || r.stderr != "" {
			t.Errorf("%q: got %v, want exit code 0 and nothing on stderr", args, r)
		}
		for word := range strings.FieldsSeq(words) {
			if !strings.Contains(r.stdout, word) {
				t.Errorf("%q: the output does not contain %q:\n%s", args, word, r.stdout)
			}
		}
		if strings.Count(r.stdout, "Usage:") > 1 {
			t.Errorf("%q prints the usage twice:\n%s", args, r.stdout)
		}
	}
}

// settings contains the service settings that can be observed from outside.
type settings struct{ database, environment, publicURL, stagingURL, key, origin, date, demo string }

var (
	stagingSettings = settings{"some.db", "staging", "https://some.example.com/v1", "https://staging.some.example.com/v1",
		"a-key-that-some-use", "https://page.some.example.com", "2030-12-05", "true"}
	productionSettings = settings{"others.db", "production", "https://others.example.com/api/v1", "https://staging.others.example.com/v1",
		"a-key-that-others-use", "https://page.others.example.com", "2030-12-04", "false"}
)

func (c settings) variables() []string {
	return []string{
		"ANIMALSTORE_DATABASE=" + c.database, "ANIMALSTORE_ENVIRONMENT=" + c.environment, "ANIMALSTORE_PUBLIC_URL=" + c.publicURL,
		"ANIMALSTORE_STAGING_URL=" + c.stagingURL, "ANIMALSTORE_API_KEY=" + c.key, "ANIMALSTORE_CORS_ORIGIN=" + c.origin,
		"ANIMALSTORE_API_DATE=" + c.date, "ANIMALSTORE_DEMO=" + c.demo,
	}
}

func (c settings) flags(keyFile string) []string {
	return []string{
		"--database=" + c.database, "--environment=" + c.environment, "--public-url=" + c.publicURL,
		"--staging-url=" + c.stagingURL, "--api-key-file=" + keyFile, "--cors-origin=" + c.origin,
		"--api-date=" + c.date, "--demo=" + c.demo,
	}
}

// observeSettings infers the settings of a running service from its responses, its log and its files.
func observeSettings(p *program, f *folder, key string) settings {
	p.t.Helper()
	c := settings{key: key, demo: "false", date: "2030-12-04"}
	for _, name := range f.names() {
		if strings.HasSuffix(name, ".db") {
			c.database += name
		}
	}
	a := p.send("GET", "/v1/pets", key, "")
	expectStatus(p.t, a, 200)
	if a.body != "[]\n" {
		c.demo = "true"
	}
	document := decode[struct{ Servers []struct{ URL string } }](p.t, p.send("GET", "/v1/openapi.json", "", "").body)
	c.publicURL, c.stagingURL = document.Servers[0].URL, document.Servers[1].URL
	for _, candidate := range []settings{stagingSettings, productionSettings} {
		preflight := p.send("OPTIONS", "/v1/pets", "", "", "Origin: "+candidate.origin, "Access-Control-Request-Method: GET")
		c.origin += preflight.header.Get("Access-Control-Allow-Origin")
		if strings.Contains(p.output.String(), " environment="+candidate.environment) {
			c.environment += candidate.environment
		}
	}
	if p.send("GET", "/v1/pets/1", key, "").status == 410 {
		c.date = "2030-12-05"
	}
	return c
}

func TestVariablesConfigureService(t *testing.T) {
	t.Parallel()
	for _, want := range []settings{stagingSettings, productionSettings} {
		f := newFolder(t, want.variables()...)
		if got := observeSettings(f.serve(), f, want.key); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestFlagsOverrideVariables(t *testing.T) {
	t.Parallel()
	for i, want := range []settings{stagingSettings, productionSettings} {
		f := newFolder(t, []settings{productionSettings, stagingSettings}[i].variables()...)
		p := f.serve(want.flags(newFolder(t).write("key", want.key+"\n"))...)
		if got := observeSettings(p, f, want.key); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		expectError(t, p.send("GET", "/v1/pets", []settings{productionSettings, stagingSettings}[i].key, ""), 401, "invalid_api_key")
	}
}

// TestFlagsOverrideInvalidVariables checks that the program does not validate an environment variable if a
// flag overrides it.
func TestFlagsOverrideInvalidVariables(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for name := range strings.FieldsSeq("ADDR DATABASE ENVIRONMENT PUBLIC_URL STAGING_URL API_KEY CORS_ORIGIN API_DATE") {
		f.variables = append(f.variables, fmt.Sprintf("ANIMALSTORE_%s=:wrong:", name))
	}
	p := f.serve(stagingSettings.flags(newFolder(t).write("key", stagingSettings.key+"\n"))...)
	if got := observeSettings(p, f, stagingSettings.key); got != stagingSettings {
		t.Errorf("got  %+v\nwant %+v", got, stagingSettings)
	}
}

// TestEmptyVariablesCountAsUnset sets every environment variable to the empty string and checks that the
// service uses the default settings.
func TestEmptyVariablesCountAsUnset(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, variable := range stagingSettings.variables() {
		name, _, _ := strings.Cut(variable, "=")
		f.variables = append(f.variables, name+"=")
	}
	p := f.serve()
	if !slices.Contains(f.names(), "animalstore.db") {
		t.Errorf("files: got %q, want animalstore.db among them", f.names())
	}
	key := strings.TrimSpace(f.run("keys", "create", "--name", "n").stdout)
	expectStatus(t, p.send("GET", "/v1/pets", key, ""), 200)
	if !strings.HasPrefix(key, "ask_live_") {
		t.Errorf("key: got %s, want a production key", key)
	}
}
