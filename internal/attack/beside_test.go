package attack

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// work is work of others that a client must not have to wait for. The zero value is no work.
type work struct {
	name      string
	webhooks  int                       // the number of webhooks
	receiver  func(t *testing.T) string // returns the address of their receiver
	importers int                       // the number of keys that import animals
	again     bool                      // whether they import one file after another
}

var works = []work{
	{name: "an import, 20 webhooks that never answer", webhooks: 20, receiver: programtest.TakenAddr, importers: 1},
	{name: "an import, 200 webhooks that refuse connections", webhooks: 200, receiver: refusingAddr, importers: 1},
	{name: "imports of two keys", importers: 2, again: true},
}

// begin begins the work, which ends soon after ended is closed. wait waits for that.
func (w work) begin(p *programtest.Program, keys []string, ended <-chan struct{}) (wait func()) {
	if w.webhooks > 0 {
		addWebhooks(p, w.webhooks, w.receiver(p.T))
	}
	var importing sync.WaitGroup
	for i := range w.importers {
		importing.Go(func() {
			for more := true; more; more = w.again && !isClosed(ended) {
				importAnimals(p, keys[i])
			}
		})
	}
	return importing.Wait
}

// besidePairs is how often a client is measured alone and beside the work of others, in turns.
const besidePairs = 5

// TestCreatesBesideTheWorkOfOthers measures how many animals a client creates alone and beside the work of others. The
// medians must be at least half as many, with a p99.9 of at most twice the time of one import that nobody disturbs.
func TestCreatesBesideTheWorkOfOthers(t *testing.T) {
	if *duration == 0 {
		t.Skip("runs by hand: make attack")
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range works {
		name := "A15 beside " + w.name
		if !wanted.MatchString(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var alone, beside []int
			var p999, imports []time.Duration
			for range besidePairs {
				n, _, took := countCreates(t, work{})
				alone, imports = append(alone, n), append(imports, took)
				n, slowest, _ := countCreates(t, w)
				beside, p999 = append(beside, n), append(p999, slowest)
			}
			t.Logf("creates in %v: alone %v, beside %v; p99.9 beside %v; one import alone %v", *duration, alone, beside, p999, imports)
			if 2*median(beside) < median(alone) {
				t.Errorf("%d creates beside, %d alone", median(beside), median(alone))
			}
			if median(p999) > 2*median(imports) {
				t.Errorf("the p99.9 is %v, and one import alone takes %v", median(p999), median(imports))
			}
		})
	}
}

func median[T int | time.Duration](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// countCreates starts the service on a new store and lets one client create animals beside the given work, if there is
// any. Without work, it then measures how long one import takes.
func countCreates(t *testing.T, w work) (creates int, p999, imported time.Duration) {
	f := programtest.NewFolderWithKey(t)
	client, keys := f.CreateKey("--name", "client"), []string{f.CreateKey("--name", "a"), f.CreateKey("--name", "b")}
	p := f.Serve("--webhook-allow-private")
	p.MayFail = true // an import is refused while too many names wait for the search index
	defer p.Kill()
	p.Client.Transport.(*http.Transport).MaxIdleConnsPerHost = 10
	ended := make(chan struct{})
	wait := w.begin(p, keys, ended)
	var took []time.Duration
	for end := time.Now().Add(*duration); time.Now().Before(end); {
		start := time.Now()
		a := p.Send("POST", "/v1/pets", client, programtest.Pet{Name: fmt.Sprint("Rex ", rand.Uint32()), CategoryID: 1, Status: "available"}.JSON())
		programtest.ExpectStatus(t, a, http.StatusCreated)
		took = append(took, time.Since(start))
	}
	close(ended)
	wait()
	slices.Sort(took)
	if w.importers == 0 {
		imported = importAnimals(p, keys[0])
	}
	p.Output.Trim()
	return len(took), took[len(took)*999/1000], imported
}

// importAnimals imports as many animals as one import may contain, and returns how long that takes. If the import is refused,
// it waits a second, which is less than the service asks for.
func importAnimals(p *programtest.Program, key string) time.Duration {
	file := fullImport()
	start := time.Now()
	a, err := p.Try("POST", "/v1/imports", key, file, "Content-Type: text/csv")
	took := time.Since(start)
	switch {
	case err != nil || a.Status != http.StatusOK && a.Status != http.StatusServiceUnavailable:
		p.T.Errorf("an import: %v, %v", a, err)
	case a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "":
		p.T.Errorf("an import: %v", a)
	case a.Status == http.StatusServiceUnavailable:
		time.Sleep(time.Second)
	}
	return took
}

// addWebhooks adds webhooks whose receiver has the given address.
func addWebhooks(p *programtest.Program, n int, address string) {
	for range n {
		a, err := p.Try("POST", "/v1/webhooks", programtest.AdminKey, `{"url":"http://`+address+`/"}`, "Content-Type: application/json")
		if err != nil || a.Status != http.StatusCreated {
			p.T.Errorf("add a webhook: %v, %v", a, err)
		}
	}
}

// refusingAddr returns an address that refuses connections.
func refusingAddr(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// removeWebhooks removes all webhooks.
func removeWebhooks(p *programtest.Program) {
	for _, hook := range programtest.Pages[struct{ ID int64 }](p, "/v1/webhooks?limit=100") {
		p.Send("DELETE", fmt.Sprintf("/v1/webhooks/%d", hook.ID), programtest.AdminKey, "")
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
