package e2e

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// load is a group of clients that add and order animals. It records what they sent and what was acknowledged.
type load struct {
	t            *testing.T
	transport    *http.Transport
	running      sync.WaitGroup
	stopping     atomic.Bool  // while true, the service is being stopped, and clients may get no response
	ended        atomic.Bool  // if true, the clients take no further steps
	acknowledged atomic.Int64 // the number of acknowledged animals and orders
	truncated    atomic.Int64 // the number of incomplete responses
	refused      atomic.Int64 // the number of responses with status 503

	mu         sync.Mutex
	sent       map[string]client.Pet   // all animals that were sent, by name
	pets       map[int64]string        // the names of the acknowledged animals
	references map[string]bool         // the references of all orders that were sent
	orders     map[string]client.Order // the acknowledged orders, by reference
	photos     map[int64]photograph    // by the ids of their animals
	newest     int64                   // the largest animal ID that the last check found
}

func newLoad(t *testing.T) *load {
	l := &load{t: t, transport: &http.Transport{MaxIdleConnsPerHost: 100}, sent: map[string]client.Pet{}, pets: map[int64]string{},
		references: map[string]bool{}, orders: map[string]client.Order{}, photos: map[int64]photograph{}}
	t.Cleanup(func() {
		l.stopping.Store(true)
		l.stop()
		l.transport.CloseIdleConnections()
	})
	return l
}

// start starts clients that repeat a step until the load is stopped or the step fails. While the service is stopping,
// a client may get no response, but it must never get an error response.
func (l *load) start(clients int, step func(client, n int) error) {
	for i := range clients {
		l.running.Go(func() {
			for n := 0; !l.ended.Load(); n++ {
				if err := step(i, n); err != nil {
					if !l.stopping.Load() || isResponse(err) {
						l.t.Errorf("client %d, step %d: %v", i, n, err)
					}
					return
				}
			}
		})
	}
}

func (l *load) stop() {
	l.ended.Store(true)
	l.running.Wait()
}

// addUntil lets clients add animals, and photos of some of them, until the service no longer responds. It calls end, which must stop the service,
// as soon as the given number of animals have been acknowledged.
func (l *load) addUntil(p *programtest.Program, prefix string, enough int64, end func()) {
	l.stopping.Store(false)
	enough += l.acknowledged.Load()
	var once sync.Once
	b := l.buyer(p, false)
	l.start(8, func(i, n int) error {
		pet, err := b.add(client.NewPet{
			Name:       fmt.Sprintf("%s, client %d, animal %d 🐢", prefix, i, n),
			CategoryID: []int64{0, 7, -7, math.MaxInt64, math.MinInt64, 1<<53 + 1}[n%6],
			Status:     []client.PetStatus{"", client.PetAvailable, client.PetPending, client.PetSold}[n%4],
		})
		if err == nil && n%3 == 1 {
			err = b.photograph(pet.ID, n%2 == 0)
		}
		if l.acknowledged.Load() >= enough {
			once.Do(func() {
				l.stopping.Store(true)
				end()
			})
		}
		return err
	})
	l.running.Wait()
}

// await waits until the given number of additional animals and orders have been acknowledged.
func (l *load) await(more int64) {
	l.t.Helper()
	enough := l.acknowledged.Load() + more
	programtest.Await(l.t, "acknowledged writes", func() bool { return l.acknowledged.Load() >= enough || l.t.Failed() })
}

// buyer is one client of a load.
type buyer struct {
	*client.Client
	load    *load
	retries bool // whether the client repeats a call with the same idempotency key until it gets a final response
}

// buyer returns a client that uses one node.
func (l *load) buyer(p *programtest.Program, retries bool) *buyer {
	b := &buyer{load: l, retries: retries}
	b.Client = newClient(l.t, p.URL, b, client.WithRetries(0))
	return b
}

func newClient(t *testing.T, url string, transport http.RoundTripper, options ...client.Option) *client.Client {
	t.Helper()
	options = append(options, client.WithHTTPClient(&http.Client{Transport: transport, Timeout: programtest.WaitTimeout}))
	c, err := client.New(url+"/v1", programtest.AdminKey, options...)
	must(t, err)
	return c
}

// RoundTrip sends a request once and reads the whole response. Only a buyer that retries sends an idempotency key.
func (b *buyer) RoundTrip(r *http.Request) (*http.Response, error) {
	var begun atomic.Bool
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { begun.Store(true) }}
	r = r.Clone(httptrace.WithClientTrace(r.Context(), trace))
	if !b.retries {
		r.Header.Del("Idempotency-Key")
	}
	response, err := b.load.transport.RoundTrip(r)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(response.Body)
		response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(body))
	}
	switch {
	case err != nil && begun.Load():
		b.load.truncated.Add(1)
	case err == nil && response.StatusCode == http.StatusServiceUnavailable:
		b.load.refused.Add(1)
		if response.Header.Get("Retry-After") == "" || !strings.Contains(string(body), `"unavailable"`) {
			b.load.t.Errorf("got 503 %s, want the code unavailable and Retry-After", body)
		}
	}
	return response, err
}

// isResponse reports whether an error is an error response from the service.
func isResponse(err error) bool {
	_, ok := errors.AsType[*client.Error](err)
	return ok
}

// isTemporary reports whether an error says that the outcome is unknown or that the call can be repeated.
func isTemporary(err error) bool {
	return !isResponse(err) || client.IsCode(err, client.CodeUnavailable) || client.IsCode(err, client.CodeIdempotencyKeyInUse)
}

func (b *buyer) try(call func() error) error {
	for {
		err := call()
		if err == nil || !isTemporary(err) || !b.retries || b.load.ended.Load() {
			return err
		}
		time.Sleep(20 * time.Millisecond) // wait for much less time than Retry-After says, so that the test is fast
	}
}

// add adds an animal. Its ID must be new.
func (b *buyer) add(n client.NewPet) (got client.Pet, err error) {
	l := b.load
	want := client.Pet{Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}
	l.mu.Lock()
	l.sent[n.Name] = want
	l.mu.Unlock()
	err = b.try(func() (err error) {
		got, err = b.CreatePet(l.t.Context(), n, client.IdempotencyKey(fmt.Sprintf("%+q", n.Name)))
		return err
	})
	if err != nil {
		return got, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if want.ID, want.ETag = got.ID, got.ETag; got != want {
		l.t.Errorf("got the response %+v, want %+v", got, want)
	}
	if other, again := l.pets[got.ID]; again || got.ID <= l.newest {
		l.t.Errorf("%+v: the ID was used before (by %q); want an ID above %d", got, other, l.newest)
	}
	l.pets[got.ID] = got.Name
	l.acknowledged.Add(1)
	return got, nil
}

func (b *buyer) order(pet int64, reference string) (order client.Order, err error) {
	l := b.load
	l.mu.Lock()
	l.references[reference] = true
	l.mu.Unlock()
	err = b.try(func() (err error) {
		order, err = b.PlaceOrder(l.t.Context(), client.NewOrder{PetID: pet, Reference: reference}, client.IdempotencyKey(reference))
		return err
	})
	if err == nil {
		l.record(order)
	}
	return order, err
}

// record records the acknowledged state of an order.
func (l *load) record(order client.Order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orders[order.Reference] = order
	l.acknowledged.Add(1)
}

// petStatusOf maps the status of an order to the status of its animal.
var petStatusOf = map[client.OrderStatus]client.PetStatus{
	client.OrderPlaced: client.PetPending, client.OrderApproved: client.PetPending,
	client.OrderDelivered: client.PetSold, client.OrderCancelled: client.PetAvailable,
}

// check compares a node's animals and orders with the records. Every acknowledged animal and order must exist, none may
// exist twice, and each one that exists must have been sent by a client. An animal may have only one order, and its
// status must match the order's status.
func (l *load) check(p *programtest.Program) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	orders, byPet := map[string]client.Order{}, map[int64]client.Order{}
	for _, order := range programtest.Pages[client.Order](p, "/v1/store/orders?limit=100") {
		if _, twice := orders[order.Reference]; twice || !l.references[order.Reference] {
			l.t.Errorf("%+v is stored twice, or no client sent it", order)
		}
		if other, twice := byPet[order.PetID]; twice {
			l.t.Errorf("animal %d has two orders, want one: %+v, %+v", order.PetID, order, other)
		}
		orders[order.Reference], byPet[order.PetID] = order, order
	}
	for reference, want := range l.orders {
		if got := orders[reference]; got.PetID != want.PetID || got.Status != want.Status {
			l.t.Errorf("acknowledged order: got %+v, want %+v", got, want)
		}
	}
	names := map[string]int64{}
	pets := programtest.Pages[client.Pet](p, "/v1/pets?limit=100")
	for i, pet := range pets {
		if i > 0 && pet.ID >= pets[i-1].ID {
			l.t.Errorf("the list is out of order: %d follows %d", pet.ID, pets[i-1].ID)
		}
		if names[pet.Name] != 0 {
			l.t.Errorf("%+v is stored twice", pet)
		}
		want := l.sent[pet.Name]
		want.ID = pet.ID
		if order, ordered := byPet[pet.ID]; ordered {
			want.Status = petStatusOf[order.Status]
		}
		if pet != want {
			l.t.Errorf("stored animal: got %+v, want %+v as sent and ordered", pet, want)
		}
		names[pet.Name] = pet.ID
		l.newest = max(l.newest, pet.ID)
	}
	for id, name := range l.pets {
		if names[name] != id {
			l.t.Errorf("acknowledged animal %q: got the ID %d, want %d", name, names[name], id)
		}
	}
	l.checkPhotos(p)
	checkInventory(p)
}

// checkInventory compares the inventory with the animals.
func checkInventory(p *programtest.Program) {
	p.T.Helper()
	want := map[string]int{"available": 0, "pending": 0, "sold": 0, "unspecified": 0}
	for _, pet := range p.Walk() {
		want[cmp.Or(pet.Status, "unspecified")]++
	}
	if got := programtest.Decode[map[string]int](p.T, p.Get("/v1/store/inventory").Body); !maps.Equal(got, want) {
		p.T.Errorf("the inventory is %v, want %v like the animals", got, want)
	}
}
