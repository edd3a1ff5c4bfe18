// Package attack attacks the running service while a shop is using it. For each attack, it prints how much
// memory the service uses and how long the shop waits for responses. An ordinary run of the tests starts no
// attack. This command runs all attacks:
//
//	go test -count 1 -run '^TestAttacks$' -timeout 0 -v ./internal/attack -attack 10s
package attack

import (
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

var (
	duration = flag.Duration("attack", 0, "duration of each attack, and of the measurement without it; 0 runs no attack")
	animals  = flag.Int("animals", 1_000_000, "number of animals in the large store")
	only     = flag.String("only", "", "run only the attacks whose name matches this regular expression")
)

// recoveryTime is how long the service may take to recover from an attack.
const recoveryTime = 10 * time.Second

// afterTime is how long the shop's requests are measured after recoveryTime has passed.
const afterTime = 3 * time.Second

func TestMain(m *testing.M) {
	if text := os.Getenv(attackerVariable); text != "" {
		runAttacker(text)
		return
	}
	programtest.Main(m)
}

// TestAttacks runs the attacks one after the other, each on a new process of the service. It prints a table and
// fails if an attack exceeds a limit.
func TestAttacks(t *testing.T) {
	if *duration == 0 {
		t.Skip("runs by hand: make attack")
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	// If the test that owns a store fails, PostgreSQL's log is printed. To avoid that, a subtest owns the stores, and
	// an attack that exceeds a limit fails only the outer test.
	t.Run("run", func(t *testing.T) { rows = runAttacks(t, wanted) })
	fmt.Print(table(rows))
	for _, r := range rows {
		if problems := r.problems(); len(problems) > 0 {
			t.Errorf("%s, %s: %s", r.attack, r.engine, strings.Join(problems, "; "))
		}
	}
}

// runAttacks runs the attacks whose name matches wanted.
func runAttacks(t *testing.T, wanted *regexp.Regexp) (rows []row) {
	s := newStores(t)
	for _, a := range attacks() {
		for _, e := range a.engines() {
			if name := a.name + ", " + string(e); wanted.MatchString(name) {
				store := s.get(a.store, e)
				t.Run(name, func(t *testing.T) { rows = append(rows, measure(t, a, e, store)) })
			}
		}
	}
	return rows
}

// measure starts the service and measures the shop without the attack, during the attack and after it.
func measure(t *testing.T, a attack, e engine, store *store) row {
	p := start(t, a, store)
	to := target{Attack: a.name, Address: p.URL[strings.LastIndex(p.URL, "/")+1:], TLS: a.http2, Key: store.attackerKey,
		Cookie: signIn(t, p, store.attackerKey), Duration: *duration, Animals: store.animals}
	c := newShopClient(t, p, store, a.probe)
	watcher, stopWatching := watch(p)
	defer stopWatching()
	stop := c.start()
	defer stop()
	time.Sleep(time.Second) // give the shop time to fill the caches and open its connections

	r := row{attack: a.name, engine: e, protocol: a.protocol(), photos: a.photos}
	if a.imports {
		r.oneImport = importAnimals(p, store.attackerKey)
	}
	quiet := time.Now()
	time.Sleep(*duration)
	r.before = readState(p)
	if err := watcher.reset(); err != nil {
		t.Fatal(err)
	}
	logged := p.Output.Len()

	began := time.Now()
	r.result = launchAttacker(t, to)
	ended := time.Now()
	r.logRate = float64(p.Output.Len()-logged) / ended.Sub(began).Seconds()
	var err error
	if r.peak, r.sockets, err = watcher.peak(); err != nil {
		t.Fatal(err)
	}

	if a.imports {
		removeWebhooks(p)
	}
	time.Sleep(recoveryTime)
	recovered := time.Now()
	time.Sleep(afterTime)
	r.later = readState(p)
	stop()
	r.quiet, r.during, r.after = c.latency(quiet, began), c.latency(began, ended), c.latency(recovered, recovered.Add(afterTime))
	if a.exceeds != nil {
		r.exceeded = a.exceeds(r)
	}
	p.Output.Trim() // discard the log, which is long after an attack
	t.Log(r.summary())
	return r
}

// start starts the service on a store with the settings that an attack needs.
func start(t *testing.T, a attack, store *store) *programtest.Program {
	f := &programtest.Folder{T: t, Dir: store.dir, Variables: slices.Clone(store.variables)}
	if a.traced {
		// No collector answers at this address.
		f.Variables = append(f.Variables, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+programtest.TakenAddr(t))
	}
	var p *programtest.Program
	if a.http2 {
		p = f.ServeTLS(programtest.NewAuthority(t))
	} else {
		p = f.Serve(a.serve...)
	}
	p.Client.CheckRedirect = noRedirect
	p.DatabaseMayFail = true // the table shows the failed requests, so the test must not fail because of them
	return p
}

// signIn signs in to the staff pages and returns the session's cookie as a header value.
func signIn(t *testing.T, p *programtest.Program, key string) string {
	t.Helper()
	a := p.Send("POST", "/staff/sign-in", "", url.Values{"key": {key}}.Encode(), "Content-Type: application/x-www-form-urlencoded")
	cookie, _, found := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	if !found {
		t.Fatalf("sign in: got %v, want a cookie", a)
	}
	return cookie
}

// loopbackOnly returns an error unless the address is on this machine, because no other machine may be
// attacked.
func loopbackOnly(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is not on this machine", address)
	}
	return nil
}
