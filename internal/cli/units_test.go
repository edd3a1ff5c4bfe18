package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"animalstore/client"
	"animalstore/internal/petcsv"
	"animalstore/internal/programtest"
	"animalstore/internal/server"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/tracing"
)

// Every error has its exit code. If a change may have been made despite the error, the message says so.
func TestEveryErrorHasAnExitCode(t *testing.T) {
	t.Parallel()
	dial := &url.Error{Op: "Get", URL: "http://a/v1/pets", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	untrusted := &url.Error{Op: "Get", URL: "https://a/v1/pets", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	type failure struct {
		err  error
		code int
		open bool // whether a change may have been made
	}
	failures := []failure{
		{&client.Error{Status: 404, Code: client.CodeUnexpectedAnswer}, 6, false},
		{&client.Error{Status: 200, Code: client.CodeUnexpectedAnswer}, 6, true},
		{fmt.Errorf("animalstore: %w", dial), 6, false},
		{fmt.Errorf("animalstore: %w", untrusted), 6, false},
		{fmt.Errorf("animalstore: %w; sent again: %v", &url.Error{Op: "Post", URL: dial.URL, Err: io.EOF}, dial), 6, true},
		{fmt.Errorf("animalstore: the answer broke off: %w", io.ErrUnexpectedEOF), 6, true},
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}, 1, false},
		{fmt.Errorf("animalstore: %w", context.Canceled), 130, true},
		{usagef("--limit"), 2, false},
		{reportedError{3}, 3, false},
	}
	for status, code := range map[int]int{400: 2, 401: 4, 403: 4, 404: 3, 409: 5, 410: 5, 412: 5, 422: 5, 429: 6, 500: 1, 503: 6} {
		failures = append(failures, failure{&client.Error{Status: status, Message: "No."}, code, status >= 500})
	}
	for _, c := range failures {
		ctx := t.Context()
		if c.code == exitInterrupted {
			ctx = interrupted
		}
		for _, changes := range []bool{false, true} {
			err := explainError(ctx, c.err, changes)
			if code := reportError(io.Discard, err); code != c.code {
				t.Errorf("%v exits with %d, want %d", c.err, code, c.code)
			}
			if strings.Contains(err.Error(), "may have been made") != (changes && c.open) {
				t.Errorf("%v (a change: %v) is explained as %q", c.err, changes, err)
			}
			if again := explainError(ctx, err, changes); again.Error() != err.Error() {
				t.Errorf("explained twice, %q becomes %q", err, again)
			}
		}
	}
	if err := explainError(t.Context(), nil, true); err != nil {
		t.Errorf("success is explained as %v, want nil", err)
	}
}

// If a command fails for several ids, it exits with the highest of their exit codes, even if the error that stops it
// has a lower exit code.
func TestHighestExitCodeCounts(t *testing.T) {
	t.Parallel()
	statuses := []int{404, 409, 401, 409}
	var printed strings.Builder
	err := forEachID(t.Context(), terminal{io.Discard, &printed}, []int64{1, 2, 3, 4}, func(id int64) error {
		return &client.Error{Status: statuses[id-1], Message: fmt.Sprintf("Refused %d.", id)}
	})
	if err != (reportedError{exitRefused}) || strings.Count(printed.String(), "\n") != 3 {
		t.Errorf("got %#v, and it printed %q", err, &printed)
	}
}

// Characters that could control a terminal or reverse text are escaped. All other characters stay unchanged.
func TestControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ñoño Жужа 小白":                  "Ñoño Жужа 小白",
		"a\\u009b":                      "a\\u009b",
		"\x1b[31mred\x07":               `\u001b[31mred\u0007`,
		"a\u009b2J\u0085\x7f":           `a\u009b2J\u0085\u007f`,
		"a\u202eb\u2066c\u200e":         `a\u202eb\u2066c\u200e`,
		"a\u2028b\ufeffc\u00ad":         `a\u2028b\ufeffc\u00ad`,
		"\U000e0001tag":                 `\udb40\udc01tag`,
		"👩\u200d🚀 علی\u200cرضا":         "👩\u200d🚀 علی\u200cرضا",
		"e\u0301 \u00a0 \u3000 ☃\ufe0f": "e\u0301 \u00a0 \u3000 ☃\ufe0f",
	} {
		if got := escapeControls(text); got != want {
			t.Errorf("escapeControls(%q) = %q, want %q", text, got, want)
		}
	}
}

// The line about a created or deleted object lists all fields. The line about an updated object lists only the fields
// that have changed.
func TestDescribeChange(t *testing.T) {
	t.Parallel()
	const rex = `{"id":1,"name":"Rex","categoryId":1}`
	for _, c := range []struct{ current, previous, want string }{
		{rex, "", "name Rex, categoryId 1"},
		{"", rex, "name Rex, categoryId 1"},
		{`{"id":1,"name":"Max","categoryId":1,"status":"sold"}`, rex, "name Rex → Max, status sold"},
		{rex, rex, ""},
		{`{"id":9,"name":"a, b","scopes":["admin","x"],"on":true,"expiresAt":"2027-01-31T18:00:00.123Z","createdAt":"2027-01-31T18:00:00Z"}`, "",
			`name "a, b", scopes admin x, on true, expiresAt 2027-01-31 18:00 UTC`},
		{`{"price":{"amount":"250.00","currency":"EUR"},"photos":[{"id":7,"position":1,"alt":"Rex sleeps"},{"id":5,"position":2}]}`,
			`{"photos":[{"id":5,"position":1,"alt":""}]}`, "price 250.00 EUR, photos 5 → 7 Rex sleeps; 5"},
		{`{"name":`, "", ""},
	} {
		if got := describeChange([]byte(c.current), []byte(c.previous), timeFlag{}); got != c.want {
			t.Errorf("from %[2]s to %[1]s: got %[3]q, want %[4]q", c.current, c.previous, got, c.want)
		}
	}
}

// The chunks contain all animals in the file, in order and with the right line numbers.
func TestChunksContainAllAnimals(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"empty":         "",
		"no animals":    "name,categoryId\n",
		"no end":        "name,categoryId\nRex,1",
		"one chunk":     "name,categoryId\n" + strings.Repeat("Rex,1\n", chunkAnimals),
		"one more":      "name,categoryId\n" + strings.Repeat("Rex,1\n", chunkAnimals+1),
		"much blank":    "\n\r\n\ufeffname,categoryId\n" + strings.Repeat("Rex,1\r\n\n,,\n", 2*chunkAnimals) + strings.Repeat("\n", chunkAnimals),
		"line breaks":   "name,categoryId\n" + strings.Repeat("\"R\nex \"\"\n\"\"\",1\nMia,2\n", chunkAnimals),
		"large animals": "name,categoryId\n" + strings.Repeat(strings.Repeat("x", 5000)+",1\n", 4000),
		"long line":     "\n\"name\",categoryId,\"status\"\n" + strings.Repeat("Rex,1,sold\n\n", chunkAnimals) + "Mia,2,",
	} {
		var got []shop.ImportRow
		chunks := shoptest.Must(newChunker(strings.NewReader(file), client.CSV))(t)
		n := 0
		for ; ; n++ {
			c, err := chunks.next()
			if err == io.EOF {
				break
			}
			if err != nil || len(c.content) > client.MaxImportSize {
				t.Fatalf("%s: %d bytes, %v", name, len(c.content), err)
			}
			rows, _ := petcsv.Read(c.content) // the error for an empty file is ignored
			if len(rows) > c.animals || c.animals > chunkAnimals {
				t.Errorf("%s: a chunk has %d animals, but says %d", name, len(rows), c.animals)
			}
			for _, row := range rows {
				row.Line += c.lineOffset
				got = append(got, row)
			}
		}
		want, _ := petcsv.Read([]byte(file))
		same := func(a, b shop.ImportRow) bool { return a.Line == b.Line && a.NewPet == b.NewPet }
		if n == 0 || !slices.EqualFunc(got, want, same) {
			t.Errorf("%s: %d chunks have %d animals, the file has %d", name, n, len(got), len(want))
		}
	}
}

// A missing closing quote is detected before the whole file is read.
func TestUnclosedQuoteIsRefused(t *testing.T) {
	t.Parallel()
	file := "name,categoryId\nRex,1\n\"Mia,1\n" + strings.Repeat("Rex,1\n", maxRecord)
	_, err := shoptest.Must(newChunker(strings.NewReader(file), client.CSV))(t).next()
	if want := fmt.Sprintf("line 3: this animal is larger than %d bytes; is a closing quote missing?", maxRecord); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// FuzzSettings checks that every value of a flag is either within the flag's limits or refused.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{"", "off", "1", "0", "-1", "1e3", "1000001", "720h", "59m", "1h", "-1h", "9999999h", "127.0.0.1:8080", ":0", "[::1]:65536", "x:01",
		"https://pets.example.com/v1", "https://a<b/v1", "https://x:443", "*", "https://shop.example.com", "2027-01-31", "2027-01-31T18:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		expect := func(what string, err error, valid bool) {
			if err == nil && !valid {
				t.Fatalf("%q is accepted as %s", text, what)
			}
		}
		n, err := parseRate(text)
		expect("a rate", err, n > 0 && n <= 1_000_000 || n == 0 && text == "off")
		d, err := parseRetention(text)
		expect("a retention", err, d >= time.Hour || d == 0 && text == "off")
		at, err := timeFlag{}.parseFuture(text)
		expect("a time", err, at.IsZero() == (text == ""))
		isURL := strings.HasPrefix(text, "http") && !strings.ContainsAny(text, "<>\"?# ")
		expect("a base URL", checkBaseURL(text), text == "" || isURL && strings.HasSuffix(text, "/v1"))
		expect("an origin", checkOrigin(text), text == "*" || isURL && !strings.HasSuffix(text, "/") && !strings.Contains(text, "*"))
		expect("a listen address", checkAddr(text), strings.Contains(text, ":"))
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
			return // skip passwords for which the check below would prove nothing
		}
		for _, url := range []string{
			"postgres://" + user + ":" + password + "@" + host + "/" + rest,
			"postgresql://" + host + "/" + user + "?password=" + password,
			"postgres://" + host + "/" + user + "?sslmode=disable&sslpassword=" + password,
		} {
			text := redact(url)
			if err := checkDatabase(url, databaseVariable); err != nil {
				text = err.Error()
			}
			if strings.Contains(text, password) {
				t.Fatalf("%q is printed as %q", url, text)
			}
		}
	})
}

// grammar returns a parser with all commands and flags.
func grammar() *kong.Kong {
	return kong.Must(&commandLine{}, kong.Name("animalstore"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
}

func readRepoFile(t *testing.T, name string) string {
	t.Helper()
	return (&programtest.Folder{T: t, Dir: "../.."}).Read(name)
}

// find returns the text that the first group of the pattern matches in a file of the repository.
func find(t *testing.T, name, pattern string) string {
	t.Helper()
	found := regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(readRepoFile(t, name))
	if found == nil {
		t.Fatalf("%s: got no match, want %s", name, pattern)
	}
	return found[1]
}

// docs/commands.md documents every command, every flag of the everyday commands, and every exit code.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	var wanted []string
	for _, leaf := range grammar().Model.Leaves(true) {
		wanted = append(wanted, "`animalstore "+leaf.Path())
		if strings.Contains("pets categories orders events inventory", strings.Fields(leaf.Path())[0]) {
			for _, flag := range leaf.Flags {
				wanted = append(wanted, "--"+flag.Name)
			}
		}
	}
	for _, code := range []int{exitOK, exitError, exitUsage, exitNotFound, exitKey, exitRefused, exitUnreachable, exitInterrupted} {
		wanted = append(wanted, fmt.Sprintf("| %d | ", code))
		if !strings.Contains(exitCodesHelp{}.Help(), fmt.Sprintf(" %d ", code)) {
			t.Errorf("the help does not explain the exit code %d", code)
		}
	}
	text := readRepoFile(t, "docs/commands.md")
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("docs/commands.md lacks %q", want)
		}
	}
}

// The packaging files use only commands, flags and environment variables that exist.
func TestPackagingUsesExistingFlags(t *testing.T) {
	t.Parallel()
	known := []string{"ANIMALSTORE_API_KEY"} // this variable has no flag, because keys must not be passed as flags
	for _, command := range grammar().Model.Children {
		for _, flag := range command.Flags {
			if command.Name == "serve" {
				known = append(known, flag.Envs...)
			}
		}
	}
	for _, name := range []string{"Dockerfile", "compose.yaml", ".env.example", "packaging/debian/animalstore.env",
		"packaging/debian/animalstore.service", "packaging/debian/animalstore-admin"} {
		for _, used := range regexp.MustCompile(`\bANIMALSTORE_[A-Z_]+`).FindAllString(readRepoFile(t, name), -1) {
			if !slices.Contains(known, used) {
				t.Errorf("%s sets %s, which serve does not read", name, used)
			}
		}
	}
	for _, name := range known {
		find(t, "packaging/debian/animalstore.env", `^#?(`+name+`)=`)
	}
	// OpenTelemetry's variables have no flags, so they are not among the known names.
	find(t, "packaging/debian/animalstore.env", `^#(OTEL_EXPORTER_OTLP_ENDPOINT)=`)
	for _, used := range regexp.MustCompile(`\bOTEL_[A-Z_]+`).FindAllString(readRepoFile(t, "packaging/debian/animalstore.env"), -1) {
		if !strings.Contains(readRepoFile(t, "docs/operating.md"), "`"+used+"`") {
			t.Errorf("packaging/debian/animalstore.env sets %s, which docs/operating.md does not explain", used)
		}
	}
	for name, pattern := range map[string]string{
		"packaging/debian/animalstore.service": `^ExecStart=/usr/bin/animalstore (.*)$`,
		"packaging/debian/postinst":            `animalstore-admin (link[^"]*)`,
		"compose.yaml":                         `exec node1 animalstore (.*)`,
	} {
		if _, err := grammar().Parse(strings.Fields(find(t, name, pattern))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The image contains no shell, so its commands are written as lists. It does not run as root.
func TestDockerfileNeedsNoShell(t *testing.T) {
	t.Parallel()
	list := func(instruction string) []string {
		return programtest.Decode[[]string](t, find(t, "Dockerfile", `^`+instruction+`.*?(\[.*\])$`))
	}
	entry, health := list("ENTRYPOINT"), list("HEALTHCHECK")
	for _, args := range [][]string{list("CMD"), health[1:]} {
		if _, err := grammar().Parse(args); err != nil {
			t.Errorf("animalstore %q: %v", args, err)
		}
	}
	if len(entry) != 1 || health[0] != entry[0] {
		t.Errorf("it runs %q, but its health check %q", entry, health)
	}
	find(t, "Dockerfile", `^USER ([1-9][0-9]*:[1-9][0-9]*)$`)
}

// The version in an image comes from git, which would report a change if a tracked file were missing. Therefore, Docker
// may ignore only files that git ignores, too.
func TestDockerIgnoresWhatGitIgnores(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(readRepoFile(t, ".dockerignore")) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "/"); line != "" && line[0] != '#' {
			find(t, ".gitignore", `^/?(`+regexp.QuoteMeta(line)+`)\s*$`)
		}
	}
}

// The manual page lists every command with its help text.
func TestManualListsEveryCommand(t *testing.T) {
	t.Parallel()
	for _, command := range grammar().Model.Children {
		find(t, "packaging/animalstore.1", `^\.B (`+command.Name+`)\n`+regexp.QuoteMeta(command.Help)+`$`)
	}
}

// systemd and Docker Compose must give the service enough time to shut down before they kill it.
func TestUnitWaitsForShutdown(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{
		"packaging/debian/animalstore.service": `^TimeoutStopSec=(.*)$`,
		"compose.yaml":                         `^  stop_grace_period: (\S+)`,
	} {
		if wait, err := time.ParseDuration(find(t, name, pattern)); err != nil || wait <= server.ShutdownTimeout+drainDelay+tracing.FlushTimeout {
			t.Errorf("%s: got %s, %v, want longer than a shutdown takes", name, wait, err)
		}
	}
}
