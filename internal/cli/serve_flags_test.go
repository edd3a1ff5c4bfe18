package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/api/apitest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// serveFlags has a row for every flag of serve that is not in flagTests. The bad values must be refused, and the two
// good values must be accepted. look returns a text about a running service. If the flag has the value good[i], this
// text must contain seen[i], but not the other element of seen.
var serveFlags = []struct {
	flag       string
	bad        []string
	good, seen [2]string
	look       func(s *background, key string) string
}{
	{"addr", []string{"", "8080", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:080", "::1:80"},
		[2]string{"127.0.0.1:0", ":0"}, [2]string{"addr=127.0.0.1:", "addr=[::]:"}, theLog},
	// These values are valid but higher than the system allows, so the log says that the limit is lowered.
	{"max-connections", []string{"0", "-1", "many", "1e4", "10000000000000000000"},
		[2]string{"1000000001", "1000000002"}, [2]string{" wanted=1000000001 ", " wanted=1000000002 "}, theLog},
	{"database",
		[]string{"", ":memory:", "sqlite://a.db", "mysql://shop:secret@a.example/shop", "postgres:/shop:secret@a.example/shop",
			"postgres://shop:secret@a.example:x/shop", "postgresql://shop:secret@a.example/shop?sslmode=maybe",
			"host=a.example password=secret dbname=shop", "postgres://shop:top@a.example,secret@b.example/shop"},
		[2]string{"some.db", "others.db"}, [2]string{"some.db", "others.db"},
		func(*background, string) string { return databaseFile() }},
	{"environment", []string{"", "prod", "Production", "production,staging"},
		[2]string{"staging", "production"}, [2]string{" environment=staging ", " environment=production "}, theLog},
	{"public-url", badBaseURLs, [2]string{"https://some.example.com/v1", "https://others.example.com/api/v1"},
		[2]string{`"https://some.example.com/v1"`, `"https://others.example.com/api/v1"`}, theDocument},
	{"staging-url", badBaseURLs[:2], [2]string{"https://staging.some.example.com/v1", "https://staging.others.example.com/v1"},
		[2]string{`"https://staging.some.example.com/v1"`, `"https://staging.others.example.com/v1"`}, theDocument},
	{"api-key-file", []string{"missing", "."}, [2]string{"some.key", "others.key"}, [2]string{"some.key 200", "others.key 200"},
		func(s *background, _ string) (seen string) {
			for name, key := range configuredKeys {
				seen += fmt.Sprintln(name, s.Send("GET", "/v1/pets", key, "").Status)
			}
			return seen
		}},
	{"categories", []string{"", "closed", "Known"}, [2]string{"known", "open"}, [2]string{"an existing category", "987654"},
		func(s *background, key string) string {
			return s.Send("POST", "/v1/pets", key, `{"name":"Rex","categoryId":987654}`).Body
		}},
	{"order-hold", []string{"", "0", "1", "-1h", "1ms", "soon", "87601h"}, [2]string{"1h", "2h"}, [2]string{"1h0m0s", "2h0m0s"},
		func(s *background, key string) string {
			category := programtest.Decode[programtest.Pet](s.T, s.expect(201, "POST", "/v1/categories", key, `{"name":"Dogs"}`))
			body := programtest.Pet{Name: "Rex", CategoryID: category.ID, Status: "available"}.JSON()
			pet := programtest.Decode[programtest.Pet](s.T, s.expect(201, "POST", "/v1/pets", key, body))
			body = s.expect(201, "POST", "/v1/store/orders", key, fmt.Sprintf(`{"petId":%d}`, pet.ID))
			order := programtest.Decode[struct{ CreatedAt, HoldExpiresAt time.Time }](s.T, body)
			return order.HoldExpiresAt.Sub(order.CreatedAt).String()
		}},
	{"photo-quota", []string{"", "0GB", "-1GB", "10", "10 GB", "10gb", "1.5GB", "lots", "99999999TB"}, [2]string{"1kB", "2kB"}, [2]string{"may have 1 kB", "may have 2 kB"},
		func(s *background, key string) string {
			category := programtest.Decode[programtest.Pet](s.T, s.expect(201, "POST", "/v1/categories", key, `{"name":"Cats"}`))
			pet := programtest.Decode[programtest.Pet](s.T, s.expect(201, "POST", "/v1/pets", key, programtest.Pet{Name: "Mia", CategoryID: category.ID}.JSON()))
			images, err := apitest.ExampleImages()
			if err != nil {
				s.T.Fatal(err)
			}
			return s.Send("POST", fmt.Sprintf("/v1/pets/%d/photos", pet.ID), key, images["rex.png"], "Content-Type: image/png").Body
		}},
	{"time-zone", []string{"", "Berlin", "europe/berlin", "Local", "../etc/passwd", "+01:00"},
		[2]string{"Europe/Berlin", "America/New_York"}, [2]string{" time_zone=Europe/Berlin", " time_zone=America/New_York"}, theLog},
	{"rate-limit", []string{"", "0", "-1", "1000001", "fast"}, [2]string{"100000", "200000"}, [2]string{"q=200000;", "q=400000;"},
		func(s *background, key string) string {
			return s.Send("GET", "/v1/pets", key, "").Header.Get("RateLimit-Policy")
		}},
	{"cors-origin",
		[]string{"shop.example.com", "https://shop.example.com/", "https://shop.example.com/a", "https://shop.example.com?a", "null",
			"ftp://shop.example.com", "https://me@shop.example.com", "https://*.example.com", "https://shop.example.com,elsewhere"},
		[2]string{"https://page.some.example.com,http://localhost:3000", "https://page.others.example.com"},
		[2]string{"https://page.some.example.com http://localhost:3000 ", "https://page.others.example.com "},
		func(s *background, _ string) (seen string) {
			for _, origin := range []string{"https://page.some.example.com", "http://localhost:3000", "https://page.others.example.com"} {
				seen += s.Send("GET", "/v1/pets", "", "", "Origin: "+origin).Header.Get("Access-Control-Allow-Origin") + " "
			}
			return seen
		}},
	{"api-date", []string{"tomorrow", "2030-02-30", "2030-12-5", "05.12.2030", "2030-12-05T00:00:00Z"},
		[2]string{"2030-12-05", "2030-12-04"}, [2]string{"410 ", "404 "}, // GET /v1/pets/{id} is removed on 2030-12-05
		func(s *background, key string) string { return s.Send("GET", "/v1/pets/99999", key, "").String() }},
	{"webhook-allow-private", []string{"maybe", "2"},
		[2]string{"true", "false"}, [2]string{"connection refused", "webhooks may only use public addresses"},
		// This delivery always fails. The error depends on the value of the flag.
		func(s *background, key string) (seen string) {
			s.expect(201, "POST", "/v1/webhooks", key, `{"url":"http://127.0.0.1:1/","types":["webhook.deleted"]}`)
			s.expect(202, "POST", "/v1/webhooks/1/test", key, "")
			for !strings.Contains(seen, `"error":`) {
				seen = s.expect(200, "GET", "/v1/webhooks/1/deliveries", key, "")
			}
			return seen
		}},
	{"demo", []string{"maybe", "2"}, [2]string{"true", "false"}, [2]string{"20 animals", "3 animals"},
		func(s *background, key string) string { // the functions in the rows above have added three animals
			return fmt.Sprintln(strings.Count(s.expect(200, "GET", "/v1/pets?limit=20", key, ""), `"name":`), "animals")
		}},
	// The last two rows stop the service, which removes old customers and events when it stops.
	{"customer-retention", []string{"", "never", "0", "-1h", "59m", "3600"},
		[2]string{"1h", "off"}, [2]string{"customer {Name: ", "customer {Name:Ann "},
		func(s *background, _ string) string {
			var id int64
			onStore(s.T, func(tx shop.WriteTx) error {
				now, err := tx.Now()
				if err != nil {
					return err
				}
				closed := shop.StatusChange{At: now.Add(-2 * time.Hour), Before: shop.Placed}
				order, err := tx.InsertOrder(shop.Order{PetID: 1, Status: shop.Cancelled, Customer: shop.Customer{Name: "Ann"}, CreatedAt: now, UpdatedAt: now, LastChange: closed})
				id = order.ID
				return err
			})
			s.stop()
			var order shop.Order
			onStore(s.T, func(tx shop.WriteTx) (err error) {
				order, _, err = tx.Order(id)
				return err
			})
			return fmt.Sprintf("customer %+v", order.Customer)
		}},
	{"event-retention", []string{"", "never", "0", "-1h", "59m", "3600", "30days", "1h ", "300000000h"},
		[2]string{"720h", "off"}, [2]string{"expired true", "expired false"},
		func(s *background, _ string) string { return fmt.Sprintln("expired", firstEventsExpired(s.T)) }},
}

func theLog(s *background, _ string) string { return s.Output.String() }

func theDocument(s *background, _ string) string {
	return s.Send("GET", "/v1/openapi.json", "", "").Body
}

func databaseFile() string {
	names, _ := filepath.Glob("*.db")
	return strings.Join(names, " ")
}

// configuredKeys maps each file that a row passes to --api-key-file to the key in that file.
var configuredKeys = map[string]string{"some.key": "a-key-that-some-use", "others.key": "a-key-that-others-use"}

// onStore runs a write on the store of the folder.
func onStore(t *testing.T, fn func(shop.WriteTx) error) {
	t.Helper()
	store := shoptest.Must(sqlstore.Open(t.Context(), databaseFile(), sqlstore.Options{}))(t)
	defer store.Close()
	shoptest.OK(t, store.Write(t.Context(), shop.Writing{}, fn))
}

// firstEventsExpired reports whether the first events were removed from the store of a service that has stopped.
func firstEventsExpired(t *testing.T) bool {
	t.Helper()
	store := shoptest.Must(sqlstore.Open(t.Context(), databaseFile(), sqlstore.Options{}))(t)
	defer store.Close()
	stopped := shoptest.Must(shop.Open(t.Context(), store, shop.Options{}))(t)
	_, _, err := stopped.EventsAfter(t.Context(), shop.Caller{}, shop.EventFilter{}, 0)
	return shop.AsError(err).Code == shop.EventsExpired
}

// variableOf returns the environment variable for a flag. For --api-key-file, it is the variable that holds the key
// itself.
func variableOf(flag string) string {
	if flag == "api-key-file" {
		return "ANIMALSTORE_API_KEY"
	}
	return "ANIMALSTORE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func TestFlagsAndVariablesConfigureService(t *testing.T) {
	const unset, invalid = -1, -2
	for name, use := range map[string]struct{ variables, flags int }{
		"variables":                        {0, unset},
		"flags override variables":         {1, 0},
		"other flags override variables":   {0, 1},
		"flags override invalid variables": {invalid, 1},
	} {
		t.Run(name, func(t *testing.T) {
			folder := newFolder(t)
			for file, key := range configuredKeys {
				folder.Write(file, key+"\n")
			}
			flags, which := []string(nil), max(use.variables, 0)
			if use.flags != unset {
				which = use.flags
			}
			for _, row := range serveFlags {
				if use.flags != unset {
					flags = append(flags, "--"+row.flag+"="+row.good[use.flags])
				}
				value := ":wrong:"
				if use.variables != invalid {
					value = cmp.Or(configuredKeys[row.good[use.variables]], row.good[use.variables])
				} else if slices.Contains([]string{"max-connections", "order-hold", "webhook-allow-private", "demo"}, row.flag) {
					continue // Kong rejects an invalid variable even if the flag overrides it
				}
				t.Setenv(variableOf(row.flag), value)
			}
			s := start(t, nil, append([]string{"serve"}, flags...)...)
			s.AwaitReady()
			key := configuredKeys[[]string{"some.key", "others.key"}[which]]
			for _, row := range serveFlags {
				got, want, other := row.look(s, key), row.seen[which], row.seen[1-which]
				if !strings.Contains(got, want) || strings.Contains(got, other) {
					t.Errorf("--%s: got %q, want %q in it but not %q", row.flag, got, want, other)
				}
			}
		})
	}
}

// Empty variables count as unset, because container files often leave unneeded variables empty.
func TestEmptyVariablesCountAsUnset(t *testing.T) {
	folder := newFolder(t, "ANIMALSTORE_KEY=", "ANIMALSTORE_TLS_CERT=", "ANIMALSTORE_TLS_KEY=",
		"ANIMALSTORE_ACME_DOMAIN=", "ANIMALSTORE_ACME_EMAIL=", "ANIMALSTORE_ACME_CACHE=", "ANIMALSTORE_ACME_DIRECTORY=")
	for _, row := range serveFlags {
		t.Setenv(variableOf(row.flag), "")
	}
	s := serve(t)
	key := createKey(t, "--name", "n")
	s.expect(200, "GET", "/v1/pets", key, "")
	if !slices.Contains(folder.Names(), "animalstore.db") || !strings.HasPrefix(key, "ask_live_") {
		t.Errorf("got the files %q and the key %s, want animalstore.db and a production key", folder.Names(), key)
	}
}

// An invalid value causes a one-line error that names the flag or the variable and contains no password. No file is
// written.
func TestInvalidSettingsAreRefused(t *testing.T) {
	folder := newFolder(t)
	// The address is in use, so that a value that is accepted by mistake does not start a service.
	taken := programtest.TakenAddr(t)
	for _, row := range serveFlags {
		flag, variable := "--"+row.flag, variableOf(row.flag)
		t.Run(flag, func(t *testing.T) {
			t.Setenv("ANIMALSTORE_ADDR", taken)
			refuse := func(args ...string) {
				t.Helper()
				r := animalstore(t, append([]string{"serve"}, args...)...)
				expectRefusal(t, r, 2)
				named := strings.Contains(r.Stderr, flag) || args == nil && strings.Contains(r.Stderr, variable)
				if !named || strings.Contains(r.Stderr, "secret") {
					t.Errorf("%q: got %q, want the name of the setting, and no password", args, r.Stderr)
				}
			}
			for _, value := range row.bad {
				refuse(flag + "=" + value)
			}
			if row.good[0] != "true" {
				refuse(flag) // pass the flag without a value
			}
			// Invalid values of ANIMALSTORE_API_KEY are tested in TestInvalidConfiguredKeysAreRefusedAndHidden.
			if row.flag != "api-key-file" {
				t.Setenv(variable, row.bad[len(row.bad)-1])
				refuse()
			}
		})
	}
	if names := folder.Names(); len(names) != 0 {
		t.Errorf("files: got %q, want none", names)
	}
}

func TestInvalidConfiguredKeysAreRefusedAndHidden(t *testing.T) {
	folder := newFolder(t)
	for _, key := range []string{"fifteen-letters", "a-key-with-a\x07-bell-in-it", "a-key-that-goes-on\non-the-next-line",
		"a key made of words", "ein-schlüssel-mit-umlaut", " \n"} {
		t.Run(key, func(t *testing.T) {
			folder.Write("key", key+"\n")
			r := animalstore(t, "serve", "--api-key-file", "key")
			expectRefusal(t, r, 2, "--api-key-file")
			t.Setenv("ANIMALSTORE_API_KEY", key)
			again := animalstore(t, "serve")
			expectRefusal(t, again, 2, "ANIMALSTORE_API_KEY")
			if start := key[:min(8, len(key))]; strings.Contains(r.Stderr+again.Stderr, start) && start != " \n" {
				t.Errorf("the key is in the error messages %q and %q", r.Stderr, again.Stderr)
			}
		})
	}
}

func TestPortInUseIsReported(t *testing.T) {
	newFolder(t)
	taken := programtest.TakenAddr(t)
	r := animalstore(t, "serve", "--addr", taken)
	expectRefusal(t, r, 1, "cannot listen: "+taken+" is already in use; choose another with --addr 127.0.0.1:")
	_, suggested, _ := strings.Cut(strings.TrimSpace(r.Stderr), "--addr ")
	if port, _ := strings.CutPrefix(suggested, "127.0.0.1:"); suggested == taken || checkAddr(suggested) != nil || port == "0" {
		t.Errorf("got the suggestion %q, want another port", suggested)
	}
}
