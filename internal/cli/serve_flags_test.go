package cli

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

var badBaseURLs = []string{
	"pets.example.com/v1", "//pets.example.com/v1", "/v1", "https://pets.example.com", "https://pets.example.com/",
	"https://pets.example.com/v1/", "https://pets.example.com/v2", "https://pets.example.com/xv1", "ftp://pets.example.com/v1", "https:///v1",
	"https://:443/v1", "https://me@pets.example.com/v1", "https://pets.example.com/v1?a=b",
	"https://pets.example.com/v1#a", "https://pets example.com/v1", "https://pets.example.com/%zz/v1",
	"https://pets.example.com>/v1", // ">" would end the URL in a Link header
}

// serveFlags has a row for every flag of serve: values that must be refused, two values that must be accepted,
// and a function that finds out which of the two a running service uses.
var serveFlags = []struct {
	flag    string
	bad     []string
	good    [2]string
	observe func(s *service, key string) string
}{
	{"addr",
		[]string{"", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:080", "127.0.0.1:80:80", "[::1:80", "::1:80"},
		[2]string{"127.0.0.1:0", ":0"},
		func(s *service, _ string) string {
			host, _, _ := net.SplitHostPort(s.addr)
			return strings.TrimPrefix(host, "::") + ":0"
		}},
	{"tls-cert", []string{"alone.pem"}, [2]string{}, nil}, // the tests of HTTPS have the good values
	{"tls-key", []string{"alone.pem"}, [2]string{}, nil},
	{"max-connections", []string{"0", "-1", "many", "1e4", "10000000000000000000"}, [2]string{"1000000001", "1000000002"},
		func(s *service, _ string) string { // the limit is lowered to the number of files that may be open
			_, rest, _ := strings.Cut(s.output.String(), " wanted=")
			wanted, _, _ := strings.Cut(rest, " ")
			return wanted
		}},
	{"database",
		[]string{"", "postgres://shop:secret@db.example.com:x/shop", "postgresql://shop:secret@db.example.com/shop?sslmode=maybe", ":memory:", "file:a.db", "sqlite://a.db",
			"mysql://shop:secret@db.example.com/shop", "postgres:/shop:secret@db.example.com/shop", "postgresql:shop:secret@db.example.com",
			"host=db.example.com password=secret dbname=shop", "postgres://shop:top@secret@db.example.com/shop",
			"postgres://shop:top@db1.example.com,secret@db2.example.com/shop"},
		[2]string{"some.db", "others.db"},
		func(s *service, _ string) string {
			names, _ := filepath.Glob("*.db")
			return strings.Join(names, " ")
		}},
	{"environment", []string{"", "prod", "Production", "STAGING", "production,staging"}, [2]string{"staging", "production"},
		func(s *service, _ string) string {
			_, rest, _ := strings.Cut(s.output.String(), " environment=")
			environment, _, _ := strings.Cut(rest, " ")
			return environment
		}},
	{"public-url", badBaseURLs, [2]string{"https://some.example.com/v1", "https://others.example.com/api/v1"},
		func(s *service, _ string) string { return s.documentedServers()[0] }},
	{"staging-url", badBaseURLs[:2], [2]string{"https://staging.some.example.com/v1", "https://staging.others.example.com/v1"},
		func(s *service, _ string) string { return s.documentedServers()[1] }},
	{"api-key-file", []string{"missing", "."}, [2]string{"some.key", "others.key"},
		func(s *service, _ string) (accepted string) {
			for name, key := range configuredKeys {
				if s.send("GET", "/v1/pets", key, "").status == http.StatusOK {
					accepted += name
				}
			}
			return accepted
		}},
	{"categories", []string{"", "closed", "Known"}, [2]string{"known", "open"},
		func(s *service, key string) string {
			if s.send("POST", "/v1/pets", key, `{"name":"Rex","categoryId":987654}`).status == http.StatusCreated {
				return "open"
			}
			return "known"
		}},
	{"order-hold", []string{"", "0", "1", "-1h", "1ms", "soon", "87601h"}, [2]string{"1h0m0s", "2h0m0s"},
		func(s *service, key string) string {
			s.expect(201, "POST", "/v1/categories", key, `{"name":"Dogs"}`)
			category := decode[[]struct{ ID int64 }](s.t, s.expect(200, "GET", "/v1/categories?limit=1", key, ""))[0].ID
			pet := decode[struct{ ID int64 }](s.t, s.expect(201, "POST", "/v1/pets", key, fmt.Sprintf(`{"name":"Rex","categoryId":%d,"status":"available"}`, category))).ID
			order := decode[struct{ CreatedAt, HoldExpiresAt time.Time }](s.t, s.expect(201, "POST", "/v1/store/orders", key, fmt.Sprintf(`{"petId":%d}`, pet)))
			return order.HoldExpiresAt.Sub(order.CreatedAt).String()
		}},
	{"rate-limit", []string{"", "0", "-1", "1000001", "1e3", "fast"}, [2]string{"100000", "200000"},
		func(s *service, key string) string {
			_, burst, _ := strings.Cut(s.send("GET", "/v1/pets", key, "").header.Get("RateLimit-Policy"), "q=")
			burst, _, _ = strings.Cut(burst, ";")
			n, _ := strconv.Atoi(burst)
			return strconv.Itoa(n / 2)
		}},
	{"cors-origin",
		[]string{"shop.example.com", "https://shop.example.com/", "https://shop.example.com/a", "https://shop.example.com?a", "null",
			"ftp://shop.example.com", "https://me@shop.example.com", "https://*.example.com", "https://shop.example.com,elsewhere"},
		[2]string{"https://page.some.example.com,http://localhost:3000", "https://page.others.example.com"},
		func(s *service, _ string) string {
			var allowed []string
			for _, origin := range []string{"https://page.some.example.com", "http://localhost:3000", "https://page.others.example.com"} {
				if s.send("GET", "/v1/pets", "", "", "Origin: "+origin).header.Get("Access-Control-Allow-Origin") == origin {
					allowed = append(allowed, origin)
				}
			}
			return strings.Join(allowed, ",")
		}},
	{"api-date", []string{"tomorrow", "2030-13-01", "2030-02-30", "2030-12-5", "05.12.2030", "2030-12-05T00:00:00Z"},
		[2]string{"2030-12-05", "2030-12-04"}, // GET /v1/pets/{id} is removed on the first of these dates
		func(s *service, key string) string {
			if s.send("GET", "/v1/pets/1", key, "").status == http.StatusGone {
				return "2030-12-05"
			}
			return "2030-12-04"
		}},
	{"webhook-allow-private", []string{"maybe", "2"}, [2]string{"true", "false"},
		func(s *service, key string) string { // a delivery to a closed port fails for one of two reasons
			s.expect(201, "POST", "/v1/webhooks", key, `{"url":"http://127.0.0.1:1/","types":["webhook.deleted"]}`)
			s.expect(202, "POST", "/v1/webhooks/1/test", key, "")
			for {
				deliveries := s.expect(200, "GET", "/v1/webhooks/1/deliveries", key, "")
				if strings.Contains(deliveries, "webhooks may only use public addresses") {
					return "false"
				}
				if strings.Contains(deliveries, "connection refused") {
					return "true"
				}
			}
		}},
	{"demo", []string{"maybe", "2"}, [2]string{"true", "false"},
		func(s *service, key string) string {
			return strconv.FormatBool(len(decode[[]any](s.t, s.send("GET", "/v1/pets?limit=20", key, "").body)) == 20)
		}},
	{"event-retention", []string{"", "never", "0", "-1h", "59m", "3600", "720", "30d", "1h ", "300000000h"}, [2]string{"720h", "off"},
		func(s *service, _ string) string { // the last row, because it stops the service, which then removes old events
			s.stop()
			if names, _ := filepath.Glob("*.db"); s.removedEvents(names[0]) {
				return "720h"
			}
			return "off"
		}},
}

// configuredKeys has the content of the files that are values of --api-key-file.
var configuredKeys = map[string]string{"some.key": "a-key-that-some-use", "others.key": "a-key-that-others-use"}

func (s *service) documentedServers() (urls []string) {
	document := decode[struct{ Servers []struct{ URL string } }](s.t, s.send("GET", "/v1/openapi.json", "", "").body)
	for _, server := range document.Servers {
		urls = append(urls, server.URL)
	}
	return append(urls, "", "")
}

// removedEvents reports whether a service that has stopped has removed its first events.
func (s *service) removedEvents(database string) bool {
	s.t.Helper()
	store, err := sqlstore.Open(s.t.Context(), database, sqlstore.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	stopped, err := shop.Open(s.t.Context(), store, shop.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, _, err = stopped.EventsAfter(s.t.Context(), shop.EventFilter{}, 0)
	return shop.AsError(err).Code == shop.EventsExpired
}

// variableOf returns the environment variable of a flag. Keys have no flag, because others can see flags.
func variableOf(flag string) string {
	if flag == "api-key-file" {
		return "ANIMALSTORE_API_KEY"
	}
	return "ANIMALSTORE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func setGoodVariables(t *testing.T, which int) {
	t.Helper()
	for _, row := range serveFlags {
		value := row.good[which]
		if row.flag == "api-key-file" {
			value = configuredKeys[value]
		}
		t.Setenv(variableOf(row.flag), value)
	}
}

func goodFlags(which int) (flags []string) {
	for _, row := range serveFlags {
		if row.observe != nil {
			flags = append(flags, "--"+row.flag+"="+row.good[which])
		}
	}
	return flags
}

// serveConfigured starts the service without any flags but these.
func serveConfigured(t *testing.T, flags ...string) *service {
	t.Helper()
	s := &service{background: start(t, nil, append([]string{"serve"}, flags...)...)}
	s.await(" tls=")
	s.addr = listening.FindStringSubmatch(s.output.String())[1]
	_, port, _ := net.SplitHostPort(s.addr)
	s.url = "http://127.0.0.1:" + port
	return s
}

func TestFlagsAndVariablesConfigureService(t *testing.T) {
	for name, test := range map[string]struct {
		which int
		start func(t *testing.T) *service
	}{
		"variables": {0, func(t *testing.T) *service {
			setGoodVariables(t, 0)
			return serveConfigured(t)
		}},
		"flags override variables": {0, func(t *testing.T) *service {
			setGoodVariables(t, 1)
			return serveConfigured(t, goodFlags(0)...)
		}},
		"other flags override variables": {1, func(t *testing.T) *service {
			setGoodVariables(t, 0)
			return serveConfigured(t, goodFlags(1)...)
		}},
		"flags override invalid variables": {1, func(t *testing.T) *service {
			for _, flag := range []string{"addr", "database", "environment", "public-url", "staging-url", "api-key-file", "categories", "rate-limit",
				"cors-origin", "api-date", "event-retention"} { // all others are numbers, which kong parses in any case
				t.Setenv(variableOf(flag), ":wrong:")
			}
			return serveConfigured(t, goodFlags(1)...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			newFolder(t)
			for file, key := range configuredKeys {
				writeFile(t, file, key+"\n")
			}
			s := test.start(t)
			key := configuredKeys[[]string{"some.key", "others.key"}[test.which]]
			for _, row := range serveFlags {
				if row.observe == nil {
					continue
				}
				if got, want := row.observe(s, key), row.good[test.which]; got != want {
					t.Errorf("--%s: got %q, want %q", row.flag, got, want)
				}
			}
		})
	}
}

// Authors of container files set variables that they do not need to the empty string.
func TestEmptyVariablesCountAsUnset(t *testing.T) {
	newFolder(t)
	for _, row := range serveFlags {
		t.Setenv(variableOf(row.flag), "")
	}
	t.Setenv("ANIMALSTORE_KEY", "")
	s := serve(t)
	key := createKey(t, "--name", "n")
	s.expect(200, "GET", "/v1/pets", key, "")
	if !slices.Contains(fileNames(t), "animalstore.db") || !strings.HasPrefix(key, "ask_live_") {
		t.Errorf("got the files %q and the key %s, want animalstore.db and a production key", fileNames(t), key)
	}
}

// A value that must be refused is refused in the flag and in the environment variable, with one line that names
// one of them, without a password, and before any file is written.
func TestInvalidSettingsAreRefused(t *testing.T) {
	newFolder(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0") // a value that is accepted by mistake must not start a service
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, row := range serveFlags {
		flag, variable := "--"+row.flag, variableOf(row.flag)
		t.Run(flag, func(t *testing.T) {
			t.Setenv("ANIMALSTORE_ADDR", taken.Addr().String())
			for _, value := range row.bad {
				r := animalstore(t, "serve", flag+"="+value)
				expectRefusal(t, r, 2, flag)
				if strings.Contains(r.stderr, "secret") {
					t.Errorf("%s=%s: got %q, want no password", flag, value, r.stderr)
				}
			}
			if row.good[0] != "true" {
				expectRefusal(t, animalstore(t, "serve", flag), 2, flag) // the value is missing
			}
			if row.flag == "api-key-file" {
				return // TestInvalidConfiguredKeysAreRefusedAndHidden has the bad values of the variable
			}
			t.Setenv(variable, row.bad[len(row.bad)-1])
			r := animalstore(t, "serve")
			expectRefusal(t, r, 2)
			if !strings.Contains(r.stderr, flag) && !strings.Contains(r.stderr, variable) || strings.Contains(r.stderr, "secret") {
				t.Errorf("%s: got %q, want the name of the setting, and no password", variable, r.stderr)
			}
		})
	}
	if names := fileNames(t); len(names) != 0 {
		t.Errorf("files: got %q, want none", names)
	}
}

func TestInvalidConfiguredKeysAreRefusedAndHidden(t *testing.T) {
	newFolder(t)
	for name, key := range map[string]string{
		"short":              "fifteen-letters",
		"control characters": "a-key-with-a\x07-bell-in-it",
		"two lines":          "a-key-that-goes-on\non-the-next-line",
		"space":              "a key made of words",
		"not ASCII":          "ein-schlüssel-mit-umlaut",
		"blank":              " \n",
	} {
		t.Run(name, func(t *testing.T) {
			writeFile(t, "key", key+"\n")
			r := animalstore(t, "serve", "--api-key-file", "key")
			expectRefusal(t, r, 2, "--api-key-file")
			t.Setenv("ANIMALSTORE_API_KEY", key)
			again := animalstore(t, "serve")
			expectRefusal(t, again, 2, "ANIMALSTORE_API_KEY")
			if start := key[:min(8, len(key))]; strings.Contains(r.stderr+again.stderr, start) && start != " \n" {
				t.Errorf("the key is in the error messages %q and %q", r.stderr, again.stderr)
			}
		})
	}
}
