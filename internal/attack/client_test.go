package attack

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

const (
	// shopRate is the number of requests that the shop sends per second.
	shopRate = 40
	// shopTimeout is how long the shop waits for a response before it counts an error.
	shopTimeout = 10 * time.Second
)

// shopClient is a shop that works while the service is attacked. Its tills send requests at a fixed rate,
// whether or not earlier ones have been answered.
type shopClient struct {
	url     string
	store   *store
	cookies []string     // the session cookies of the tills
	http    *http.Client // reuses its connections
	fresh   *http.Client // opens a connection for each request
	steps   []step

	mu      sync.Mutex
	samples []sample
}

// step is one kind of request that the shop sends. It returns the status of the response.
type step func(c *shopClient, ctx context.Context, till int) (status int, err error)

// sample is the result of one request.
type sample struct {
	due    time.Time // when the request was due to be sent
	took   time.Duration
	status int // 0 if there was no response
	err    error
}

// steps are the requests that the shop sends in turn during every attack.
var steps = []step{getPet, listPets, staffPets, createPet, getPetOnNewConnection, listPets, placeOrder, dashboard}

// newShopClient signs all tills in. The shop also sends the probe, unless it is nil.
func newShopClient(t *testing.T, p *programtest.Program, store *store, probe step) *shopClient {
	t.Helper()
	kept := p.Client.Transport.(*http.Transport).Clone()
	kept.MaxIdleConnsPerHost = tills
	fresh := kept.Clone()
	fresh.DisableKeepAlives = true
	c := &shopClient{url: p.URL, store: store, steps: steps,
		http: &http.Client{Transport: kept, CheckRedirect: noRedirect}, fresh: &http.Client{Transport: fresh}}
	if probe != nil {
		c.steps = append(slices.Clone(steps), probe)
	}
	for _, key := range store.tillKeys {
		c.cookies = append(c.cookies, signIn(t, p, key))
	}
	t.Cleanup(kept.CloseIdleConnections)
	return c
}

// noRedirect makes a client return a redirect, such as to the sign-in page, instead of following it.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// start lets the shop work until stop is called. stop waits for the requests in progress.
func (c *shopClient) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		began := time.Now()
		for n := 0; ; n++ {
			due := began.Add(time.Duration(n) * time.Second / shopRate)
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(due)):
			}
			running.Go(func() { c.send(n, due) })
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// send sends request number n, which was due at the given time, and records the result.
func (c *shopClient) send(n int, due time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), shopTimeout)
	defer cancel()
	status, err := c.steps[n%len(c.steps)](c, ctx, n/len(c.steps)%tills)
	s := sample{due, time.Since(due), status, err}
	if err == nil && (status < 200 || status > 299) {
		s.err = fmt.Errorf("status %d", status)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples = append(c.samples, s)
}

// exchange sends a request and reads at most limit bytes of the response. The header fields have the form
// "Name: value".
func exchange(ctx context.Context, h *http.Client, method, url, body string, limit int64, fields ...string) (status int, content []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Header.Set(name, value)
	}
	response, err := h.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(io.LimitReader(response.Body, limit))
	return response.StatusCode, content, err
}

// get sends a GET request and reads the whole response.
func (c *shopClient) get(ctx context.Context, h *http.Client, path, header string) (int, error) {
	status, _, err := exchange(ctx, h, "GET", c.url+path, "", math.MaxInt64, header)
	return status, err
}

// open sends a GET request and disconnects after the first byte of the response.
func (c *shopClient) open(ctx context.Context, path, header string) (int, error) {
	status, _, err := exchange(ctx, c.fresh, "GET", c.url+path, "", 1, header)
	return status, err
}

// post sends a POST request with a till's key. Like the requests of the Go client, it has an Idempotency-Key, so
// that net/http sends it again if the service has just closed the idle connection.
func (c *shopClient) post(ctx context.Context, path string, till int, contentType, body string) (int, error) {
	status, _, err := exchange(ctx, c.http, "POST", c.url+path, body, math.MaxInt64,
		c.key(till), "Content-Type: "+contentType, `Idempotency-Key: "`+cryptorand.Text()+`"`)
	return status, err
}

func (c *shopClient) key(till int) string    { return "Authorization: Bearer " + c.store.tillKeys[till] }
func (c *shopClient) cookie(till int) string { return "Cookie: " + c.cookies[till] }

// somePet returns the path of a random animal.
func (c *shopClient) somePet() string {
	return fmt.Sprintf("/v1/pets?id=%d", 1+rand.IntN(c.store.animals))
}

func getPet(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.get(ctx, c.http, c.somePet(), c.key(till))
}

func getPetOnNewConnection(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.get(ctx, c.fresh, c.somePet(), c.key(till))
}

func listPets(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.get(ctx, c.http, "/v1/pets?status=available&limit=20&cursor="+someCursor(), c.key(till))
}

// someCursor returns a random cursor. A cursor is a number in base 32, so every text of this form is a valid position
// in a list. Four random digits give positions up to about 300,000.
func someCursor() string { return fmt.Sprintf("8%012d", rand.IntN(10_000)) }

func createPet(c *shopClient, ctx context.Context, till int) (int, error) {
	body := programtest.Pet{Name: "Newcomer", CategoryID: 7, Status: "available"}.JSON()
	return c.post(ctx, "/v1/pets", till, "application/json", body)
}

// placeOrder orders an animal that nobody has ordered before.
func placeOrder(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.post(ctx, "/v1/store/orders", till, "application/json", fmt.Sprintf(`{"petId":%d}`, c.store.ordered.Add(1)))
}

func staffPets(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.get(ctx, c.http, "/staff/pets", c.cookie(till))
}

func dashboard(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.get(ctx, c.http, "/", c.cookie(till))
}

// The following steps are probes for attacks that use up a limited resource, such as all exports that may run at the
// same time.

func openExport(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.open(ctx, "/v1/exports/pets.csv", c.key(till))
}

func openLivePage(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.open(ctx, "/staff/live", c.cookie(till))
}

func tryImport(c *shopClient, ctx context.Context, till int) (int, error) {
	return c.post(ctx, "/v1/imports?dryRun=true", till, "text/csv", "name,categoryId\nRex,1\n")
}

// searchPet searches for an animal that has been in the shop for long. The first page must contain it.
func searchPet(c *shopClient, ctx context.Context, till int) (int, error) {
	id := 1000 + rand.IntN(c.store.animals-1000) // hardly any other number contains one of four digits
	query := url.QueryEscape(newPet(int64(id)).Name)
	status, page, err := exchange(ctx, c.http, "GET", c.url+"/v1/pets?q="+query, "", math.MaxInt64, c.key(till))
	if err == nil && status == http.StatusOK && !strings.Contains(string(page), fmt.Sprintf(`"id":%d,`, id)) {
		err = fmt.Errorf("animal %d is not on the first page", id)
	}
	return status, err
}

func checkReadiness(c *shopClient, ctx context.Context, _ int) (int, error) {
	return c.get(ctx, c.http, "/readyz", "Accept: */*")
}

// latency summarizes the requests that were due in a period.
func (c *shopClient) latency(from, to time.Time) latency {
	c.mu.Lock()
	defer c.mu.Unlock()
	var l latency
	var took []time.Duration
	for _, s := range c.samples {
		if s.due.Before(from) || !s.due.Before(to) {
			continue
		}
		took = append(took, s.took)
		if s.err != nil {
			l.errors++
			l.firstError = cmp.Or(l.firstError, s.err.Error())
		}
		if s.status >= 500 {
			l.serverErrors++
		}
	}
	slices.Sort(took)
	if l.requests = len(took); l.requests > 0 {
		l.p50, l.p99 = took[l.requests/2], took[l.requests*99/100]
	}
	return l
}
