package docs

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/webhook"
)

// java makes the tests run the Java example, too. That example needs a JDK and Maven.
var java = flag.Bool("java", false, "also run the example in Java")

// The examples in Python and Java do the same things. They work even if the network fails. They repeat a POST whose
// response was lost, and the POST takes effect only once. They resume a stream that broke. They verify the webhooks
// that the service sends, with either secret during a rotation, and refuse forged and old messages.
func TestExamplesWorkDespiteFailures(t *testing.T) {
	t.Parallel()
	t.Run("python", func(t *testing.T) { runExample(t, "python", "python3 -W error main.py") })
	if *java {
		t.Run("java", func(t *testing.T) { runExample(t, "java", "mvn --quiet --batch-mode compile exec:java") })
	}
}

func runExample(t *testing.T, language, command string) {
	t.Parallel()
	s, network := serveUnreliably(t)
	before := countPets(t, s, "Rex, Beagle")
	example := filepath.Join(t.TempDir(), language)
	shoptest.OK(t, os.CopyFS(example, os.DirFS(filepath.Join("../../../examples", language))))
	output, err := shell(t, example, command, "ANIMALSTORE_URL="+network.server.URL+"/v1", "ANIMALSTORE_KEY="+shoptest.AdminKey)
	output = strings.ReplaceAll(output, "\x1b[0m", "") // Maven writes this escape sequence even without a terminal
	lines := []string{
		`\d+: .+`, `\d+: .+`, `\d+: .+`, `\d\d+ animals are available\.`, `Rex, Beagle arrived and is available\.`,
		`The order is placed; repeating the request returns the same order\.`, `Too late: Animal \d+ is not available; .+`,
		`400 validation_failed: .+`, `Bella is in category 9007199254740993\.`,
		`event pet\.created: available`, `event pet\.updated: pending`, `event pet\.updated: available`,
		`webhook pet\.updated: Rexina, Beagle`, `webhook pet\.updated: 2 signatures during the rotation`,
		`A forged message is refused: the message is not signed with a secret of this webhook\.`,
		`A message of an hour ago is refused: the message is too old, or a clock is wrong\.`,
	}
	if err != nil || !regexp.MustCompile(`^`+strings.Join(lines, `\r?\n`)+`\r?\n$`).MatchString(output) {
		t.Errorf("%s: got %v, want no error and lines that match\n%s\ngot\n%s", command, err, strings.Join(lines, "\n"), output)
	}
	if keys := network.createKeys; len(keys) < 3 || keys[0] == "" || keys[0] != keys[1] || keys[0] != keys[2] {
		t.Errorf("the first animal was sent with the idempotency keys %q, want the same key three times", keys)
	}
	if got := countPets(t, s, "Rex, Beagle") - before; got != 1 {
		t.Errorf("got %d new animals called Rex, want 1", got)
	}
	if got := network.resumed; len(got) != 2 || got[0] != "0" || got[1] != network.lastID {
		t.Errorf("the stream was opened after the events %q, want 0, and then %s, the last event before it broke", got, network.lastID)
	}
	if network.pages.Load() == 0 {
		t.Error("the example has fetched no second page")
	}
}

// countPets returns how many animals have the given name.
func countPets(t *testing.T, s *shoptest.Shop, name string) (n int) {
	t.Helper()
	list := shop.PetList{PetFilter: shop.PetFilter{Query: name}, PageRequest: shop.PageRequest{Limit: 100}}
	page := shoptest.Must(s.ListPets(t.Context(), shop.Caller{}, list, nil))(t)
	for _, pet := range page.Items {
		if pet.Name == name {
			n++
		}
	}
	return n
}

// unreliableNetwork loses the response to the first POST /v1/pets request and refuses the second such request. It
// breaks the first stream of events after one event.
type unreliableNetwork struct {
	api    http.Handler
	server *httptest.Server
	pages  atomic.Int32 // the number of requests for a second or later page

	mu         sync.Mutex
	createKeys []string // the Idempotency-Key of each POST /v1/pets
	resumed    []string // the Last-Event-ID of each stream
	lastID     string   // the id of the event that the first stream sent before it broke
}

// serveUnreliably serves the demo shop behind an unreliable network. The shop delivers its webhooks.
func serveUnreliably(t *testing.T) (*shoptest.Shop, *unreliableNetwork) {
	t.Helper()
	s, api := openDemo(t)
	dispatcher := webhook.New(webhook.Config{Service: s.Service, Version: "test", AllowPrivate: true, Report: func(err error) { t.Error(err) }})
	var dispatching sync.WaitGroup
	dispatching.Go(func() { dispatcher.Run(t.Context()) })
	t.Cleanup(dispatching.Wait)
	network := &unreliableNetwork{api: api}
	network.server = shoptest.Serve(t, network)
	return s, network
}

func (n *unreliableNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/pets":
		n.mu.Lock()
		n.createKeys = append(n.createKeys, r.Header.Get("Idempotency-Key"))
		attempt := len(n.createKeys)
		n.mu.Unlock()
		switch attempt {
		case 1:
			n.api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case 2:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "a proxy has no JSON", http.StatusServiceUnavailable)
			return
		}
	case r.Header.Get("Accept") == "text/event-stream":
		n.mu.Lock()
		n.resumed = append(n.resumed, r.Header.Get("Last-Event-ID"))
		first := len(n.resumed) == 1
		n.mu.Unlock()
		if first {
			n.api.ServeHTTP(&brokenStream{ResponseWriter: w, network: n}, r)
			panic(http.ErrAbortHandler)
		}
	case r.URL.Query().Has("cursor"):
		n.pages.Add(1)
	}
	n.api.ServeHTTP(w, r)
}

// brokenStream passes on one event of a stream and then fails.
type brokenStream struct {
	http.ResponseWriter
	network *unreliableNetwork
	buffer  []byte
	broken  bool
}

func (s *brokenStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

var firstEvent = regexp.MustCompile(`(?s)^.*?id: ?(\d+)\n(?:event:[^\n]*\n)?data:.*?\n\n`)

func (s *brokenStream) Write(part []byte) (int, error) {
	if s.broken {
		return 0, http.ErrHandlerTimeout
	}
	s.buffer = append(s.buffer, part...)
	event := firstEvent.FindSubmatch(s.buffer)
	if event == nil {
		return len(part), nil
	}
	s.broken = true
	s.network.mu.Lock()
	s.network.lastID = string(event[1])
	s.network.mu.Unlock()
	if _, err := s.ResponseWriter.Write(bytes.Clone(event[0])); err != nil {
		return 0, err
	}
	return len(part), http.NewResponseController(s.ResponseWriter).Flush()
}
