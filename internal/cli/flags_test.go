package cli

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"animalstore/api/apitest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// nextMonth is a day in the future to which a hold can be extended.
var nextMonth = time.Now().AddDate(0, 1, 0).UTC().Format(time.DateOnly)

// clientCommands maps every command that uses the API of a running service to valid arguments.
var clientCommands = map[string]string{
	"pets list": "", "pets show": "1", "pets add": "--name=Rex --category=1", "pets set": "1 --name=Rex", "pets publish": "1", "pets unpublish": "1", "pets remove": "6",
	"photos list": "1", "photos add": "1 rex.png", "photos move": "1 1 2", "photos remove": "1 2",
	"categories list": "", "categories add": "--name=Dogs", "categories set": "1 --name=Dogs", "categories remove": "1",
	"orders list": "", "orders show": "1", "orders place": "--pet=1", "orders set": "1 --hold-until=" + nextMonth,
	"orders approve": "1", "orders deliver": "1", "orders undo": "1", "orders erase-customer": "1",
	"orders cancel": "1", "events": "", "inventory": "", "pets restore": "7", "import": "pets.csv", "export": "out.csv",
	"mcp": "", "store show": "", "store set": "--name=Paws",
}

// flagTests has a row for every flag of every command, except for the flags of serve that are in serveFlags. With the
// value good, the command succeeds, and its request or its output contains effect. With the value bad, the error
// message contains problem. Many bad values are empty, because scripts often pass a variable that is not set. A command
// that ignored an empty value would do more than it was asked to do. NONE stands for a flag without a value.
var flagTests = []struct{ command, flag, good, effect, bad, problem string }{
	{"pets list", "status", "available", "status=available", "gone", "--status must be one of available, pending, sold"},
	{"pets list", "category", "-9223372036854775808", "categoryId=-9223372036854775808", " ", "--category must have"},
	{"pets list", "search", "REX", "q=REX", " ", "--search must have at least one character that is not a space"},
	{"pets list", "id", "1,3", "id=1&id=3", "Rex", "--id: "},
	{"pets list", "limit", "7", "limit=7", "0", "--limit: 0 is out of range; expected 1 or more"},
	{"pets list", "all", "true", "limit=100", "true --limit=3", "--limit and --all"},
	{"pets add", "name", "Mia", `"name":"Mia"`, "", "--name must have 1 to 200 characters, not 0"},
	{"pets add", "category", "7", `"categoryId":7`, "", "--category must have 1 to 200 characters, not 0"},
	{"pets add", "status", "sold", `"status":"sold"`, "gone", "--status must be one of available, pending, sold"},
	{"pets add", "idempotency-key", "monday", `Idempotency-Key: "monday"`, "schlüssel", "--idempotency-key must have 1 to 255 printable ASCII characters"},
	{"pets set", "name", "Max", `"name":"Max"`, " ", "--name must have at least one character that is not a space"},
	{"pets set", "category", "8", `"categoryId":8`, "", "--category must have 1 to 200 characters, not 0"},
	{"pets set", "status", "available", `"status":"available"`, "gone", "--status must be one of"},
	{"pets set", "if-match", "*", "If-Match: *", "", "--if-match must be an ETag as printed by pets show, or *"},
	{"pets show", "profile", "true -o json", `"published":false`, "maybe", "--profile: "},
	{"pets set", "description", "Calm", `"description":"Calm"`, " ", "--description must have at least one character that is not a space"},
	{"pets set", "breed", "Beagle --breed=Boxer", `"breeds":["Beagle","Boxer"]`, "", "--breed must have 1 to 100 characters, not 0"},
	{"pets set", "mixed", "yes", `"mixed":true`, "maybe", "--mixed must be yes or no"},
	{"pets set", "sex", "female", `"sex":"female"`, "f", "--sex must be one of female, male"},
	{"pets set", "birth-date", "2020-02-29", `"birthDate":"2020-02-29"`, "2021-02-29", "--birth-date must be a date such as 2026-05-31"},
	{"pets set", "birth-date-estimated", "no", `"birthDateEstimated":false`, "true", "--birth-date-estimated must be yes or no"},
	{"pets set", "size", "extra-large", `"size":"extra-large"`, "huge", "--size must be one of small, medium, large, extra-large"},
	{"pets set", "color", "red", `"color":"red"`, "", "--color must have 1 to 100 characters, not 0"},
	{"pets set", "price", "250.00EUR", `"price":{"amount":"250.00","currency":"EUR"}`, "250", "--price must be a currency code of ISO 4217, such as EUR"},
	{"pets set", "arrival-date", "2026-01-31", `"arrivalDate":"2026-01-31"`, "yesterday", "--arrival-date must be a date such as 2026-05-31"},
	{"pets set", "trait", "neutered=yes --trait=goodWithCats=no", `"traits":{"neutered":true,"goodWithCats":false}`, "flies=yes", "--trait: there is no trait flies"},
	{"pets set", "tag", "Calm,big", `"tags":["Calm","big"]`, " ", "--tag must have at least one character that is not a space"},
	{"pets set", "contact-url", "https://example.com/rex", `"contactUrl":"https://example.com/rex"`, "example.com", "--contact-url must be an https: URL or a mailto: address"},
	{"pets set", "microchip", "276098106123456", `"microchip":"276098106123456"`, "12", "--microchip must have 9 to 15 letters and digits"},
	{"pets set", "location", "Kennel", `"location":"Kennel"`, " ", "--location must have at least one character that is not a space"},
	{"pets set", "notes", "Shy", `"notes":"Shy"`, " ", "--notes must have at least one character that is not a space"},
	{"pets set", "remove", "price,traits.neutered", `"price":null,"traits":{"neutered":null}`, "published", "--remove must be one of description, "},
	{"pets remove", "if-match", "*", "If-Match: *", "", "--if-match must be an ETag as printed by pets show, or *"},
	{"categories add", "name", "Cats", `"name":"Cats"`, strings.Repeat("n", 201), "--name must have 1 to 200 characters, not 201"},
	{"categories add", "idempotency-key", "tuesday", `Idempotency-Key: "tuesday"`, strings.Repeat("k", 256), "--idempotency-key must have 1 to 255"},
	{"categories set", "name", "Birds", `"name":"Birds"`, "", "--name must have 1 to 200 characters, not 0"},
	{"store set", "name", "Paws", `"name":"Paws"`, "", "--name must have 1 to 200 characters, not 0"},
	{"store set", "phone", "030-1", `"phone":"030-1"`, " ", "--phone must have at least one character that is not a space"},
	{"store set", "email", "a@b.example", `"email":"a@b.example"`, "a.example", "--email must have one @ with text on both sides"},
	{"store set", "address", "Road,1 --address=Town", `"address":["Road,1","Town"]`, "", "--address must have 1 to 200 characters, not 0"},
	{"store set", "website", "https://example.com/", `"website":"https://example.com/"`, "http://example.com/", "--website must be an https: URL"},
	{"store set", "currency", "EUR", `"currency":"EUR"`, "Euro", "--currency must be a currency code of ISO 4217, such as EUR"},
	{"store set", "time-zone", "Europe/Berlin", `"timeZone":"Europe/Berlin"`, "Berlin", "--time-zone must be the name of a time zone, such as Europe/Berlin or UTC"},
	{"store set", "kind", "shelter", `"kind":"shelter"`, "zoo", "--kind must be one of shop, shelter"},
	{"store set", "window", "yes", `"window":{"enabled":true}`, "open", "--window must be yes or no"},
	{"store set", "window-title", "Hi", `"window":{"title":"Hi"}`, " ", "--window-title must have at least one character that is not a space"},
	{"store set", "window-introduction", "Come", `"window":{"introduction":"Come"}`, " ", "--window-introduction must have at least one character that is not a space"},
	{"store set", "embed-origin", "https://a.example,https://b.example:8443", `"window":{"embedOrigins":["https://a.example","https://b.example:8443"]}`, "https://a.example/x",
		"--embed-origin must be https://, a host and perhaps a port, such as https://www.example.com"},
	{"store set", "remove", "phone,window.title", `"phone":null,"window":{"title":null}`, "kind", "--remove must be one of name, phone, "},
	{"orders list", "status", "placed", "status=placed", "gone", "--status must be one of placed, approved, delivered, cancelled, expired"},
	{"orders list", "pet", "2", "petId=2", "0", "--pet must be the id of an animal, 1 or more"},
	{"orders list", "pickup", "2026-12-05", "pickupDate=2026-12-05", "Saturday", "--pickup must be a date such as 2026-05-31"},
	{"orders list", "search", "desk", "q=desk", " ", "--search must have at least one character that is not a space"},
	{"orders list", "limit", "7", "limit=7", "-1", "--limit: -1 is out of range"},
	{"orders list", "all", "true", "limit=100", "maybe", "--all"},
	{"photos add", "alt", "Rex", `"alt":"Rex"`, "", "--alt must have 1 to 200 characters, not 0"},
	{"orders place", "pet", "3", `"petId":3`, "Rex", "--pet: "},
	{"orders place", "reference", "Miller --pet=2", `"reference":"Miller"`, " ", "--reference must have at least one character that is not a space"},
	{"orders place", "pickup", "2026-12-05 --pet=7", `"pickupDate":"2026-12-05"`, "Saturday", "--pickup must be a date such as 2026-05-31"},
	{"orders place", "price", "250.00EUR --pet=8", `"price":{"amount":"250.00","currency":"EUR"}`, "250", "--price must be a currency code of ISO 4217"},
	{"orders place", "no-price", "true --pet=9", `"price":null`, "maybe", "--no-price"},
	{"orders place", "customer-name", "Ann --pet=10", `"customer":{"name":"Ann"}`, " ", "--customer-name must have at least one character that is not a space"},
	{"orders place", "customer-phone", "555 --pet=11", `"customer":{"phone":"555"}`, "", "--customer-phone must have 1 to 50 characters, not 0"},
	{"orders place", "customer-email", "a@b --pet=12", `"customer":{"email":"a@b"}`, "a", "--customer-email must have one @ with text on both sides"},
	{"orders place", "idempotency-key", "desk-2", `Idempotency-Key: "desk-2"`, "", "--idempotency-key must have 1 to 255"},
	{"orders set", "reference", "Miller", `"reference":"Miller"`, "", "--reference must have 1 to 200 characters, not 0"},
	{"orders set", "no-reference", "true", `"reference":null`, "maybe", "--no-reference"},
	{"orders set", "pickup", "2026-12-05", `"pickupDate":"2026-12-05"`, "Saturday", "--pickup must be a date such as 2026-05-31"},
	{"orders set", "no-pickup", "true", `"pickupDate":null`, "maybe", "--no-pickup"},
	{"orders set", "price", "250.00EUR", `"price":{"amount":"250.00","currency":"EUR"}`, "250", "--price must be a currency code of ISO 4217"},
	{"orders set", "no-price", "true", `"price":null`, "maybe", "--no-price"},
	{"orders set", "customer-name", "Ann", `"customer":{"name":"Ann"}`, " ", "--customer-name must have at least one character that is not a space"},
	{"orders set", "customer-phone", "555", `"customer":{"phone":"555"}`, "", "--customer-phone must have 1 to 50 characters, not 0"},
	{"orders set", "customer-email", "a@b", `"customer":{"email":"a@b"}`, "a", "--customer-email must have one @ with text on both sides"},
	{"orders set", "no-customer", "true", `"customer":{"email":null,"name":null,"phone":null}`, "maybe", "--no-customer"},
	{"orders set", "hold-until", nextMonth, `"holdExpiresAt":"` + nextMonth + `T00:00:00Z"`, "", "--hold-until: the time is missing"},
	{"orders set", "if-match", "*", "If-Match: *", "", "--if-match must be an ETag as printed by orders show, or *"},
	{"events", "follow", "true --after=0 --limit=1", "Accept: text/event-stream", "maybe", "--follow"},
	{"events", "after", "1", "after=1", "", "--after must be the id of an event: 1 to 18 digits"},
	{"events", "type", "pet.created,order.placed", "type=pet.created&type=order.placed", "NONE", "--type"},
	{"events", "subject", "pets/1", "subject=pets/1", " ", "--subject must have"},
	{"events", "actor", "keys/7", "actor=keys/7", "me", "--actor must be keys/ID"},
	{"events", "since", "2027-01-31", "since=2027-01-31T00:00:00Z", "Yesterday", "--since: invalid time"},
	{"events", "until", "2027-01-31T18:00:00+01:00", "until=2027-01-31T17:00:00Z", "-3d", "--until: invalid time"},
	{"events", "limit", "7", "ID", "many", "--limit: "},
	{"events", "all", "true", "limit=100", "true --after=1", "--after and --all are mutually exclusive"},
	{"events", "utc", "true", "UTC", "maybe", "--utc"},
	{"orders list", "utc", "true", "UTC", "maybe", "--utc"},
	{"orders show", "utc", "true", "UTC", "maybe", "--utc"},
	{"orders place", "utc", "true --pet=4", "UTC", "maybe", "--utc"},
	{"orders set", "utc", "true --hold-until=3d", "UTC", "maybe", "--utc"},
	{"keys create", "utc", "true", "ask_", "maybe", "--utc"},
	{"keys list", "utc", "true", "UTC", "maybe", "--utc"},
	{"import", "format", "csv", "text/csv", "xml", "--format must be one of"},
	{"import", "mode", "upsert", "mode=upsert", "replace", "--mode must be one of"},
	{"import", "dry-run", "true", "dryRun", "maybe", "--dry-run"},
	{"import", "again", "true", "Imported 1 animal.", "maybe", "--again"},
	{"export", "format", "ndjson", "pets.ndjson", "xml", "--format must be one of"},
	{"export", "include", "profile", "include=profile", "photos", "--include must be one of"},

	{"keys create", "name", "Ann", "Ann", "", "--name"},
	{"keys create", "scope", "pets:read,orders:read", "pets:read, orders:read", "pets:eat", "--scope "},
	{"keys create", "role", "partner-order", "pets:read, orders:read, orders:write", "boss", "--role "},
	{"keys create", "expires", "2099-12-31", "2099-12-31 00:00 UTC", "2020-01-01", "--expires "},
	{"keys create", "database", "staging.db", "ask_test_", ":memory:", "--database: "},
	{"keys create", "environment", "production", "ask_live_", "prod", "--environment must be one of"},
	{"keys list", "database", "staging.db", "tester", "file:a.db", "--database: "},
	{"keys list", "environment", "production", "boss", "staging", "--environment: "},
	{"keys rotate", "database", "staging.db", "tester", "postgres://h#x/db", "--database: "},
	{"keys rotate", "environment", "production", "second", "staging", "--environment: "},
	{"keys rotate", "overlap", "90m", "stays valid for 1h30m.", "721h", "--overlap: "},
	{"keys revoke", "database", "staging.db", "Revoked key 2.", "mysql://h/db", "--database: "},
	{"keys revoke", "environment", "production", "Revoked key 2.", "staging", "--environment: "},
	{"link", "database", "staging.db", "sign in as chief", ":memory:", "--database: "},
	{"link", "environment", "production", "sign in as boss", "staging", "--environment: "},
	{"link", "key", "SECOND", "sign in as second", "", "--key must have 1 to 200 characters, not 0"},
	{"link", "public-url", "https://pets.example/v1", "https://pets.example/staff/sign-in/link?token=asl_", "https://pets.example", "--public-url: "},
	{"link", "addr", "0.0.0.0:8081", "http://127.0.0.1:8081/staff/", "127.0.0.1:0", "--addr: "},
	{"link", "tls-cert", "cert.pem", "https://127.0.0.1:8080/staff/", "NONE", "--tls-cert"},
	{"link", "acme-domain", "pets.example", "https://127.0.0.1:8080/staff/", "NONE", "--acme-domain"},
	{"copy", "database", "staging.db", "Copied staging.db to copied.db and verified the copy.", "postgres://me:secret@h/db", "put a URL with a password into the environment variable ANIMALSTORE_DATABASE"},
	{"copy", "to", "copied.db", "Copied animalstore.db to copied.db and verified the copy.", "postgres://me:secret@h/db", "put a URL with a password into the environment variable ANIMALSTORE_COPY_TO"},
	{"backup", "database", "staging.db", "Backed up staging.db to file.db: ", "postgres://h/db", "use the tools of PostgreSQL"},
	{"backup", "force", "true", "Backed up animalstore.db to file.db: ", "maybe", "--force"},
	{"restore", "database", "new.db", "Restored new.db from backup.db.", ":memory:", "--database: "},
	{"restore", "force", "true", "The previous store is kept in ", "maybe", "--force"},
	{"check", "database", "staging.db", "No problems found in staging.db.", "", "--database"},
	{"restore", "rehearse", "true", "backup.db can be restored.", "maybe", "--rehearse"},
	{"restore", "continue-after", "1200 --database=new.db", "New ids continue after 1200", "-1", "--continue-after: -1 is out of range"},
	{"doctor", "json", "", "", "maybe", "--json"},
	// Valid values of these flags are tested in serve_backup_test.go.
	{"serve", "backup-dir", "", "", "missing", "--backup-dir: the folder missing does not exist"},
	{"serve", "backup-every", "", "", "59s --backup-dir=.", "--backup-every: "},
	{"serve", "backup-keep", "", "", "0 --backup-dir=.", "--backup-keep: "},
	// Valid values of these flags are tested in the HTTPS tests.
	{"serve", "tls-cert", "", "", "alone.pem", "--tls-cert"},
	{"serve", "tls-key", "", "", "alone.pem", "--tls-key"},
	// Valid values of these flags are tested in TestServiceObtainsCertificate.
	{"serve", "acme-domain", "", "", "*.example.com", "--acme-domain: "},
	{"serve", "acme-email", "", "", "Ann --acme-domain=pets.example.com", "--acme-email: "},
	{"serve", "acme-cache", "", "", "animalstore.db --acme-domain=pets.example.com", "--acme-cache: "},
	{"serve", "acme-directory", "", "", "http://ca.example --acme-domain=pets.example.com", "--acme-directory: "},
	// A valid value is tested in TestHealthUsesHTTPSIfServiceHasCertificate.
	{"health", "acme-domain", "", "", "NONE", "--acme-domain"},
	{"health", "addr", "ADDR", "ready", "8080", "--addr: "},
	// A valid value is tested in TestHealthUsesHTTPSIfServiceHasCertificate.
	{"health", "tls-cert", "", "", "NONE", "--tls-cert"},
}

// databaseCommands maps the commands that are not in clientCommands to valid arguments.
var databaseCommands = map[string]string{
	"keys create": "--name=n", "keys list": "", "keys rotate": "2", "keys revoke": "2",
	"link": "", "copy": "--to=copied.db", "backup": "file.db", "restore": "backup.db", "check": "", "health": "",
	"serve": "--addr=192.0.2.1:1", // serve exits because it cannot listen on this address
}

// A new flag needs a row in flagTests or serveFlags.
func TestEveryFlagIsTested(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, row := range flagTests {
		tested[row.command+" --"+row.flag] = true
	}
	for _, row := range serveFlags {
		tested["serve --"+row.flag] = true
	}
	for flag := range tested {
		tested[strings.Replace(flag, "serve --", "doctor --", 1)] = true // doctor accepts the same flags as serve
	}
	for command := range clientCommands {
		// These flags are tested in TestClientCommandsReportConnectionErrors and in the scripts.
		for _, flag := range []string{"url", "key-file", "output"} {
			tested[command+" --"+flag] = true
		}
	}
	for _, leaf := range grammar().Model.Leaves(true) {
		for _, flag := range leaf.Flags {
			if name := leaf.Path() + " --" + flag.Name; !tested[name] {
				t.Errorf("%s has no row with a good and a bad value", name)
			}
			if want := variableOf(flag.Name); len(flag.Envs) > 0 && flag.Envs[0] != want && flag.Name != "to" {
				t.Errorf("%s --%s: got the variable %s, want %s", leaf.Path(), flag.Name, flag.Envs[0], want)
			}
		}
	}
}

// A good value takes effect, whether it is set by a flag or by an environment variable. A bad value is refused before
// any request is sent or any file is written.
func TestGoodValuesWorkAndBadValuesAreRefused(t *testing.T) {
	variables := map[string]string{}
	for _, leaf := range grammar().Model.Leaves(true) {
		for _, flag := range leaf.Flags {
			variables[leaf.Path()+" --"+flag.Name] = strings.Join(flag.Envs, " ")
		}
	}
	stores := newFolder(t)
	for _, line := range []string{"keys create --name=boss", "backup backup.db", "keys create --name=second",
		"keys create --name=chief --database=staging.db --environment=staging", "keys create --name=tester --database=staging.db"} {
		succeed(t, strings.Fields(line)...)
	}
	s, shop, requests := newBusyShop(t)
	for _, row := range flagTests {
		arguments, isClient := clientCommands[row.command]
		name, words := row.command+" --"+row.flag, strings.Fields(row.command+" "+arguments+databaseCommands[row.command])
		for _, variable := range slices.Compact([]string{"", variables[name]}) {
			if variable != "" && (row.bad == "NONE" || strings.Contains(row.bad, "secret")) {
				// Skip values that are bad only in a flag. A variable always has a value, and it may contain a
				// password.
				continue
			}
			t.Run(name+" "+variable, func(t *testing.T) {
				with := func(value string) []string {
					switch flag := "--" + row.flag; {
					case variable != "":
						t.Setenv(variable, value)
						return words
					case value == "NONE":
						return append(words, flag)
					case strings.TrimSpace(value) == "":
						return append(words, flag+"="+value)
					default:
						return append(words, strings.Fields(flag+"="+value)...)
					}
				}
				folder := shop
				if !isClient {
					folder = newFolder(t)
					shoptest.OK(t, os.CopyFS(".", os.DirFS(stores.Dir)))
				}
				before, files := len(requests.String()), folder.Names()
				if row.bad != "" || variable == "" {
					expectRefusal(t, animalstore(t, with(row.bad)...), 2, row.problem)
				}
				if sent, now := requests.String()[before:], folder.Names(); sent != "" || !slices.Equal(now, files) {
					t.Errorf("the bad value: got the requests %q and the files %q, want none and %q", sent, now, files)
				}
				if row.good == "" {
					return
				} else if name == "backup --force" {
					folder.Write("file.db", "to be overwritten")
				}
				r := animalstore(t, with(strings.Replace(row.good, "ADDR", s.addr(), 1))...)
				seen := requests.String()[before:] + r.Stdout + r.Stderr
				if strings.HasPrefix(row.command, "keys") {
					seen += animalstore(t, "keys", "list").Stdout
				}
				if r.Code != 0 || !strings.Contains(seen, row.effect) {
					t.Errorf("the good value: got %v and %q, want exit code 0 and %q", r, seen, row.effect)
				}
			})
		}
	}
}

// newBusyShop starts a service that has animals and orders. Client commands then use this service, and their requests
// are recorded.
func newBusyShop(t *testing.T) (s *background, folder *programtest.Folder, requests *programtest.Transcript) {
	t.Helper()
	folder, s = newShop(t)
	folder.Write("pets.csv", "name,categoryId,status\nRex,1,available\n")
	for range 12 {
		succeed(t, "import", "--again", "pets.csv")
	}
	folder.Write("rex.png", shoptest.Must(apitest.ExampleImages())(t)["rex.png"])
	for range 2 {
		succeed(t, "photos", "add", "1", "rex.png")
	}
	succeed(t, "categories", "add", "--name", "Mice")
	succeed(t, "orders", "place", "--pet", "5")
	requests = &programtest.Transcript{}
	t.Setenv("ANIMALSTORE_URL", newProxy(t, s.URL, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		request, _ := httputil.DumpRequest(r, true)
		query, _ := url.QueryUnescape(r.URL.RawQuery)
		fmt.Fprintf(requests, "%s\n%s", query, request)
		forward.ServeHTTP(w, r)
	}))
	return s, folder, requests
}

func TestInvalidCommandsAreRefused(t *testing.T) {
	folder := newFolder(t, "ANIMALSTORE_KEY=x")
	for line, want := range map[string]string{
		"serve --frobnicate":           "unknown flag --frobnicate",
		"frobnicate":                   "unexpected argument frobnicate (see animalstore --help)",
		"pets list extra":              "unexpected argument extra (see animalstore pets list --help)",
		"keys create":                  "missing flags: --name=NAME (see animalstore keys create --help)",
		"pets set 1":                   "nothing to change; set --name, --category, --status or a member of the profile",
		"pets set Rex --name=Max":      "<id>: ",
		"pets remove":                  "<id>",
		"pets remove 6 7 --if-match=x": "--if-match: an ETag belongs to one animal; remove them one at a time",
		"serve --api-key " + adminKey:  "unknown flag --api-key", // a key in a flag would appear in the process list
	} {
		t.Run(line, func(t *testing.T) { expectRefusal(t, animalstore(t, strings.Fields(line)...), 2, want) })
	}
	if names := folder.Names(); len(names) != 0 {
		t.Errorf("files: got %q, want none", names)
	}
}

func TestIncompleteCommandsListSubcommands(t *testing.T) {
	newFolder(t)
	model := grammar().Model.Node
	for _, group := range append([]*kong.Node{model}, model.Children...) {
		for _, command := range group.Children {
			r := animalstore(t, strings.Fields(strings.TrimPrefix(group.Path(), "animalstore"))...)
			want := "  " + command.Path() + " "
			if r.Code != 2 || r.Stdout != "" || strings.Count(r.Stderr, "Usage:") != 1 || !strings.Contains(r.Stderr, want) {
				t.Errorf("%s: got %v, want exit code 2, and the usage with %q on stderr", group.Path(), r, want)
			}
		}
	}
}

var badBaseURLs = []string{
	"//a.example/v1", "https://a.example", "https://a.example/v1/", "https://a.example/xv1", "ftp://a.example/v1", "https://:443/v1",
	"https://me@a.example/v1", "https://a.example/v1?a=b", "https://a.example/v1#a", "https://a example/v1",
	"https://a.example/%zz/v1", "https://a.example>/v1", // ">" would end the URL in a Link header
}
