package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// clientCommands has arguments for every command that uses the API of a running service.
var clientCommands = map[string]string{
	"pets list":         "",
	"pets show":         "1",
	"pets add":          "--name=Rex --category=1",
	"pets set":          "1 --name=Rex",
	"pets remove":       "6",
	"categories list":   "",
	"categories add":    "--name=Dogs",
	"categories set":    "1 --name=Dogs",
	"categories remove": "1",
	"orders list":       "",
	"orders show":       "1",
	"orders place":      "--pet=1",
	"orders approve":    "1",
	"orders deliver":    "1",
	"orders cancel":     "1",
	"events":            "",
	"inventory":         "",
	"import":            "pets.csv",
	"export":            "out.csv",
}

// Every client command has these flags. TestClientCommandsReportConnectionErrors has their bad values, and the
// scripts have the good ones.
var connectionFlags = []string{"url", "key-file", "output"}

// flagTests has a row for every flag of every command except serve: a good value, a text that a request or the
// output then contains, a bad value, and the text of its error message. The bad value "" is an empty one: it often comes
// from an unset variable in a script, and without the flag the command would do more than it was asked to. NONE is
// a missing value.
var flagTests = []struct{ command, flag, good, effect, bad, problem string }{
	{"pets list", "status", "available", "status=available", "gone", "--status must be one of available, pending, sold"},
	{"pets list", "category", "-9223372036854775808", "categoryId=-9223372036854775808", "dogs", "--category: "},
	{"pets list", "search", "REX", "q=REX", " ", "--search must have at least one character that is not a space"},
	{"pets list", "id", "1,3", "id=1&id=3", "Rex", "--id: "},
	{"pets list", "limit", "7", "limit=7", "0", "--limit: 0 is out of range; expected 1 or more"},
	{"pets list", "all", "true", "limit=100", "true --limit=3", "--limit and --all"},
	{"pets add", "name", "Mia", `"name":"Mia"`, "", "--name must have 1 to 200 characters, not 0"},
	{"pets add", "category", "7", `"categoryId":7`, "dogs", "--category: "},
	{"pets add", "status", "sold", `"status":"sold"`, "gone", "--status must be one of available, pending, sold"},
	{"pets add", "idempotency-key", "monday", `Idempotency-Key: "monday"`, "schlüssel", "--idempotency-key must have 1 to 255 printable ASCII characters"},
	{"pets set", "name", "Max", `"name":"Max"`, " ", "--name must have at least one character that is not a space"},
	{"pets set", "category", "8", `"categoryId":8`, "dogs", "--category: "},
	{"pets set", "status", "available", `"status":"available"`, "gone", "--status must be one of"},
	{"pets set", "if-match", "*", "If-Match: *", "", "--if-match must be an ETag as printed by pets show, or *"},
	{"pets remove", "if-match", "*", "If-Match: *", "x 7", "--if-match: an ETag belongs to one animal; remove them one at a time"},
	{"categories add", "name", "Cats", `"name":"Cats"`, strings.Repeat("n", 201), "--name must have 1 to 200 characters, not 201"},
	{"categories add", "idempotency-key", "tuesday", `Idempotency-Key: "tuesday"`, strings.Repeat("k", 256), "--idempotency-key must have 1 to 255"},
	{"categories set", "name", "Birds", `"name":"Birds"`, "", "--name must have 1 to 200 characters, not 0"},
	{"orders list", "status", "placed", "status=placed", "gone", "--status must be one of placed, approved, delivered, cancelled, expired"},
	{"orders list", "pet", "2", "petId=2", "0", "--pet must be the id of an animal, 1 or more"},
	{"orders list", "limit", "7", "limit=7", "-1", "--limit: -1 is out of range"},
	{"orders list", "all", "true", "limit=100", "maybe", "--all"},
	{"orders place", "pet", "3", `"petId":3`, "Rex", "--pet: "},
	{"orders place", "reference", "Miller --pet=2", `"reference":"Miller"`, " ", "--reference must have at least one character that is not a space"},
	{"orders place", "idempotency-key", "desk-2", `Idempotency-Key: "desk-2"`, "", "--idempotency-key must have 1 to 255"},
	{"events", "follow", "true --after=0 --limit=1", "Accept: text/event-stream", "maybe", "--follow"},
	{"events", "after", "1", "after=1", "", "--after must be the id of an event: 1 to 18 digits"},
	{"events", "type", "pet.created,order.placed", "type=pet.created&type=order.placed", "NONE", "--type"},
	{"events", "subject", "pets/1", "subject=pets/1", " ", "--subject must have"},
	{"events", "limit", "7", "ID", "many", "--limit: "},
	{"events", "all", "true", "limit=100", "true --after=1", "--after and --all are mutually exclusive"},
	{"import", "format", "csv", "text/csv", "xml", "--format must be one of"},
	{"import", "dry-run", "true", "dryRun", "maybe", "--dry-run"},
	{"import", "again", "true", "Imported 1 animal.", "maybe", "--again"},
	{"export", "format", "ndjson", "pets.ndjson", "xml", "--format must be one of"},

	{"keys create", "name", "Ann", "Ann", "", "--name"},
	{"keys create", "scope", "pets:read,orders:read", "pets:read, orders:read", "pets:eat", "--scope "},
	{"keys create", "expires", "2099-12-31", "2099-12-31 00:00 UTC", "2020-01-01", "--expires "},
	{"keys create", "database", "staging.db", "ask_test_", ":memory:", "--database: "},
	{"keys create", "environment", "production", "ask_live_", "prod", "--environment must be one of"},
	{"keys list", "database", "staging.db", "tester", "file:a.db", "--database: "},
	{"keys list", "environment", "production", "boss", "staging", "--environment: "},
	{"keys rotate", "database", "staging.db", "tester", "postgres://h#x/db", "--database: "},
	{"keys rotate", "environment", "production", "second", "staging", "--environment: "},
	{"keys rotate", "overlap", "90m", "stays valid for 1h30m0s", "721h", "--overlap: "},
	{"keys revoke", "database", "staging.db", "Revoked key 2.", "mysql://h/db", "--database: "},
	{"keys revoke", "environment", "production", "Revoked key 2.", "staging", "--environment: "},
	{"copy", "database", "staging.db", "Copied staging.db to copied.db and verified the copy.", "postgres://me:secret@h/db", "put a URL with a password into the environment variable ANIMALSTORE_DATABASE"},
	{"copy", "to", "copied.db", "Copied animalstore.db to copied.db and verified the copy.", "postgres://me:secret@h/db", "put a URL with a password into the environment variable ANIMALSTORE_COPY_TO"},
	{"backup", "database", "staging.db", "Backed up staging.db to file.db: ", "postgres://h/db", "use the tools of PostgreSQL"},
	{"backup", "force", "true", "Backed up animalstore.db to file.db: ", "maybe", "--force"},
	{"restore", "database", "new.db", "Restored new.db from backup.db.", ":memory:", "--database: "},
	{"restore", "force", "true", "The previous store is kept in ", "maybe", "--force"},
	{"check", "database", "staging.db", "No problems found in staging.db.", "", "--database"},
	{"health", "addr", "ADDR", "ready", "8080", "--addr: "},
	{"health", "tls-cert", "", "", "NONE", "--tls-cert"}, // TestHealthUsesHTTPSIfServiceHasCertificate has the good value
}

// databaseCommands has arguments for the commands that open the database themselves.
var databaseCommands = map[string]string{
	"keys create": "--name=n", "keys list": "", "keys rotate": "2", "keys revoke": "2",
	"copy": "--to=copied.db", "backup": "file.db", "restore": "backup.db", "check": "", "health": "",
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
	for command := range clientCommands {
		for _, flag := range connectionFlags {
			tested[command+" --"+flag] = true
		}
	}
	for _, leaf := range grammar(t).Model.Leaves(true) {
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

// A good value of a flag, or of its variable, has its effect. A bad one is refused with one line that says
// why, before a request is sent or a file is written.
func TestGoodValuesWorkAndBadValuesAreRefused(t *testing.T) {
	variables := map[string]string{}
	for _, leaf := range grammar(t).Model.Leaves(true) {
		for _, flag := range leaf.Flags {
			if len(flag.Envs) > 0 {
				variables[leaf.Path()+" --"+flag.Name] = flag.Envs[0]
			}
		}
	}
	stores := os.DirFS(newStores(t))
	s, requests := newBusyShop(t)
	for _, row := range flagTests {
		arguments, uses := databaseCommands[row.command], "database"
		if client, ok := clientCommands[row.command]; ok {
			arguments, uses = client, "service"
		}
		withValue := func(value string) []string {
			command, flag := strings.Fields(row.command), "--"+row.flag
			rest := slices.DeleteFunc(strings.Fields(arguments), func(word string) bool {
				name, _, _ := strings.Cut(word, "=")
				return name == flag || strings.Contains(value, name+"=")
			})
			if value == "NONE" {
				return slices.Concat(command, rest, []string{flag})
			}
			if strings.TrimSpace(value) == "" {
				return slices.Concat(command, []string{flag + "=" + value}, rest)
			}
			return slices.Concat(command, strings.Fields(flag+"="+value), rest)
		}
		name := row.command + " --" + row.flag
		ways := map[string]func(t *testing.T, value string) []string{
			"flag": func(_ *testing.T, value string) []string { return withValue(value) },
		}
		if variable := variables[name]; variable != "" && row.bad != "NONE" && !strings.Contains(row.bad, "secret") {
			ways["variable"] = func(t *testing.T, value string) []string {
				t.Setenv(variable, value)
				return strings.Fields(row.command + " " + arguments)
			}
		}
		for way, with := range ways {
			t.Run(name+" as "+way, func(t *testing.T) {
				if uses == "database" {
					newFolder(t)
					if err := os.CopyFS(".", stores); err != nil {
						t.Fatal(err)
					}
				}
				before, files := len(requests.String()), fileNames(t)
				if row.bad != "" || way == "flag" {
					expectRefusal(t, animalstore(t, with(t, row.bad)...), 2, row.problem)
				}
				if sent, now := requests.String()[before:], fileNames(t); sent != "" || !slices.Equal(now, files) {
					t.Errorf("the bad value: got the requests %q and the files %q, want none and %q", sent, now, files)
				}
				if row.good == "" {
					return
				}
				if row.command == "backup" && row.flag == "force" {
					writeFile(t, "file.db", "to be overwritten")
				}
				r := animalstore(t, with(t, strings.Replace(row.good, "ADDR", s.addr, 1))...)
				seen := requests.String()[before:] + r.stdout + r.stderr
				if strings.HasPrefix(row.command, "keys") && !strings.Contains(seen, row.effect) {
					seen += animalstore(t, "keys", "list").stdout
				}
				if r.code != 0 || !strings.Contains(seen, row.effect) {
					t.Errorf("the good value: got %v and %q, want exit code 0 and %q", r, seen, row.effect)
				}
			})
		}
	}
}

// newStores creates a folder with a store for production, one for staging, and a backup.
func newStores(t *testing.T) (dir string) {
	t.Helper()
	newFolder(t)
	for _, args := range [][]string{
		{"keys", "create", "--name=boss"}, {"backup", "backup.db"}, {"keys", "create", "--name=second"},
		{"keys", "create", "--name=chief", "--database=staging.db", "--environment=staging"}, {"keys", "create", "--name=tester", "--database=staging.db"},
	} {
		succeed(t, args...)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newBusyShop starts a service with animals and orders and makes client commands use it. It records their
// requests.
func newBusyShop(t *testing.T) (*service, *transcript) {
	t.Helper()
	newFolderWithKey(t)
	s := serve(t)
	s.useForCommands()
	writeFile(t, "pets.csv", "name,categoryId,status\nRex,1,available\n")
	for range 6 {
		succeed(t, "import", "--again", "pets.csv")
	}
	succeed(t, "categories", "add", "--name", "Mice")
	succeed(t, "orders", "place", "--pet", "5")
	requests := &transcript{changed: make(chan struct{})}
	recorder := newProxy(t, s.url, func(r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		query, _ := url.QueryUnescape(r.URL.RawQuery)
		var text bytes.Buffer
		fmt.Fprintf(&text, "%s %s?%s\n", r.Method, r.URL.Path, query)
		r.Header.Write(&text)
		text.Write(body)
		requests.Write(text.Bytes())
	})
	t.Setenv("ANIMALSTORE_URL", recorder)
	return s, requests
}

func TestInvalidCommandsAreRefused(t *testing.T) {
	newFolder(t)
	for line, want := range map[string]string{
		"serve --frobnicate":          "unknown flag --frobnicate",
		"frobnicate":                  "unexpected argument frobnicate (see animalstore --help)",
		"serve extra":                 "unexpected argument extra (see animalstore serve --help)",
		"keys mend":                   "unexpected argument mend (see animalstore keys --help)",
		"pets list extra":             "unexpected argument extra (see animalstore pets list --help)",
		"keys create":                 "missing flags: --name=NAME (see animalstore keys create --help)",
		"orders place":                "missing flags: --pet=ID (see animalstore orders place --help)",
		"pets set 1":                  "nothing to change; set --name, --category or --status",
		"pets set Rex --name=Max":     "<id>: ",
		"pets remove":                 "<id>",
		"orders approve x":            "<id>",
		"keys revoke":                 "<id>",
		"keys revoke x":               "<id>: ",
		"keys revoke 1 2":             "unexpected argument 2",
		"import":                      "<file>",
		"export":                      "<file>",
		"serve --api-key " + adminKey: "unknown flag --api-key", // the key would appear in the process list
	} {
		t.Run(line, func(t *testing.T) { expectRefusal(t, animalstore(t, strings.Fields(line)...), 2, want) })
	}
	if names := fileNames(t); len(names) != 0 {
		t.Errorf("files: got %q, want none", names)
	}
}

func TestIncompleteCommandsListSubcommands(t *testing.T) {
	newFolder(t)
	model := grammar(t).Model.Node
	for _, group := range append([]*kong.Node{model}, model.Children...) {
		if len(group.Children) == 0 {
			continue
		}
		r := animalstore(t, strings.Fields(strings.TrimPrefix(group.Path(), "animalstore"))...)
		if r.code != 2 || r.stdout != "" || strings.Count(r.stderr, "Usage:") != 1 {
			t.Errorf("%s: got %v, want exit code 2 and the usage on stderr", group.Path(), r)
		}
		for _, command := range group.Children {
			if !strings.Contains(r.stderr, "  "+command.Path()+" ") {
				t.Errorf("%s: got\n%s\nwant the subcommand %s", group.Path(), r.stderr, command.Path())
			}
		}
	}
}

func TestHelpAndVersionPrintToStdout(t *testing.T) {
	newFolder(t)
	for line, words := range map[string]string{
		"--help":             "serve keys version",
		"serve --help":       "--addr ANIMALSTORE_ADDR",
		"pets --help":        "Exit codes: 130",
		"keys create --help": "--scope pets:read",
		"version --help":     "Usage:",
		"version":            "animalstore go1",
	} {
		r := succeed(t, strings.Fields(line)...)
		for word := range strings.FieldsSeq(words) {
			if !strings.Contains(r.stdout, word) || r.stderr != "" || strings.Count(r.stdout, "Usage:") > 1 {
				t.Errorf("%s: got %v, want %q on stdout", line, r, word)
			}
		}
	}
}
