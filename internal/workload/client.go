package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// randomClient sends random requests. Half of the clients retry requests that got no response. A retry must not
// apply a change twice.
type randomClient struct {
	l        *Load
	id, turn int
	retries  bool
	rng      *rand.Rand
	http     *http.Client
	api      *client.Client

	acknowledged atomic.Int64

	ownPets []ownPet
	orders  []client.Order // the open orders that this client has placed
}

// ownPet is an animal that other clients cannot change, except by ordering it if it is for sale.
type ownPet struct {
	client.Pet
	forSale       bool
	photos        []int64 // the ids of its photos, in their order
	photosUnknown bool    // whether a request that changes its photos got no response
}

func newRandomClient(l *Load, id int) *randomClient {
	c := &randomClient{l: l, id: id, retries: id%2 == 0 || l.Retries > 0, rng: rand.New(rand.NewPCG(l.Seed, uint64(id)))}
	c.http = &http.Client{Transport: countingTransport{&http.Transport{MaxIdleConnsPerHost: 6}, l}, Timeout: programtest.WaitTimeout}
	c.api = l.newClient(l.clientURL(id), c.http, client.WithRetries(l.Retries))
	return c
}

// countingTransport counts the requests that got no response and the writes that got a 503. Such a 503 must
// have a Retry-After header.
type countingTransport struct {
	*http.Transport
	l *Load
}

func (c countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	// If GetBody were set, net/http would itself retry requests with an idempotency key and hide missing
	// responses.
	r.GetBody = nil
	start := time.Now()
	response, err := c.Transport.RoundTrip(r)
	c.l.recordDuration(r, time.Since(start))
	switch {
	case err != nil:
		c.l.Unanswered.Add(1)
	case response.StatusCode == http.StatusServiceUnavailable && r.Method != http.MethodGet:
		c.l.Unavailable.Add(1)
		if response.Header.Get("Retry-After") == "" {
			c.l.Problem("%s %s: got a 503 without Retry-After", r.Method, r.URL.Path)
		}
	}
	return response, err
}

// run sends random requests until the context ends.
func (c *randomClient) run(ctx context.Context) {
	defer c.http.CloseIdleConnections()
	type actions []func(context.Context)
	all := slices.Concat(actions{c.importPets}, slices.Repeat(actions{c.removePet, c.changeCategory, c.changeOrder, c.raceOrder, c.changePhotos}, 4),
		slices.Repeat(actions{c.changePet, c.advanceOrder, c.read}, 6), slices.Repeat(actions{c.addPet, c.placeOrder}, 9))
	for ctx.Err() == nil {
		c.turn++
		all[c.rng.IntN(len(all))](ctx)
		if c.l.Pause > 0 {
			sleep(ctx, 0, 2*int(c.l.Pause.Milliseconds()))
		}
	}
}

// attempt sends the request for an operation once. It returns the ID of the changed object, or 0 if the
// response does not contain the ID.
type attempt func(context.Context) (id int64, err error)

// do sends the request for an operation, records the result and reports whether the service acknowledged the
// operation. The subject of the operation's event is in the given collection, such as pets. If this client retries,
// do repeats a request that got no response. The service may refuse the operation only with one of the given codes.
// If it refuses a retry, the result stays unknown, because an earlier attempt that got no response may have caused
// the refusal.
func (c *randomClient) do(ctx context.Context, op *operation, collection string, send attempt, refusals ...client.Code) bool {
	op.client = c.id
	c.l.recordOperation(op)
	for first := true; ; first = false {
		// Even a client that is stopping must wait for the response.
		id, err := send(context.WithoutCancel(ctx))
		e, responded := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			op.responded, op.result = c.l.Elapsed(), done
			if id != 0 {
				op.subject = fmt.Sprint(collection, "/", id)
			}
			c.l.Acknowledged.Add(1)
			c.acknowledged.Add(1)
			return true
		case responded && e.Status < 500 && !isTemporary(e):
			if first {
				op.responded, op.result = c.l.Elapsed(), refused
			}
			if first && !slices.Contains(refusals, e.Code) {
				c.l.Problem("%q: got %v, want one of %q or success", op.eventKey, err, refusals)
			}
			return false
		case op.batch != "" && responded && isTemporary(e): // an import; few run at the same time, and none while many names wait for the index
		case c.l.Retries > 0 && !op.noRetry:
			c.l.Problem("%q failed despite retries: %v", op.eventKey, err)
			return false
		case responded && !isTemporary(e):
			c.l.Problem("%q: got %v, want no server error but 503", op.eventKey, err)
		}
		sleep(ctx, 5, 50)
		if !c.retries || op.noRetry || ctx.Err() != nil {
			return false
		}
	}
}

// isTemporary reports whether a client may repeat a request later. For example, a key gets a 429 if it sends too many
// imports at the same time.
func isTemporary(e *client.Error) bool {
	return e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests || e.Code == client.CodeIdempotencyKeyInUse
}

// uniqueName returns a name that this client uses only in the current turn and that no other client uses.
func (c *randomClient) uniqueName(what string) string {
	return fmt.Sprintf("%s %d.%d", what, c.id, c.turn)
}

// anyCategory returns a random category ID. Usually it is the ID of a category with many animals, but sometimes the
// category is new or has an extreme ID.
func (c *randomClient) anyCategory() int64 {
	switch kind := c.rng.IntN(20); {
	case kind == 0:
		return int64(1_000_000 + 100_000*c.id + c.turn) // a new category
	case kind == 1:
		return pick(c.rng, []int64{0, -7, math.MaxInt64, math.MinInt64, 1<<53 + 1})
	case kind < 4:
		return int64(100 + c.rng.IntN(4)) // a category that often becomes empty and is then removed
	}
	return int64(1 + c.rng.IntN(5))
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// take removes a random element from a list. It returns false if the list is empty.
func take[T any](rng *rand.Rand, list *[]T) (one T, ok bool) {
	if len(*list) == 0 {
		return one, false
	}
	i := rng.IntN(len(*list))
	one = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return one, true
}

// read sends a random GET request. The client's own animals and orders must be in the state that was last
// acknowledged.
func (c *randomClient) read(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	var err error
	switch kind := c.rng.IntN(4); {
	case kind < 2 && len(c.ownPets) > 0:
		want := pick(c.rng, c.ownPets)
		var got client.Pet
		got, err = c.api.GetPet(ctx, want.ID)
		got.ETag, want.ETag = "", ""
		if want.forSale {
			got.Status = want.Status
		}
		if err == nil && got != want.Pet {
			c.l.Problem("read %+v, want %+v as acknowledged", got, want.Pet)
		}
	case kind == 2 && len(c.orders) > 0:
		want := pick(c.rng, c.orders)
		var got client.Order
		got, err = c.api.GetOrder(ctx, want.ID)
		if err == nil && got.Status != want.Status && !(want.Status == client.OrderPlaced && got.Status == client.OrderExpired) {
			c.l.Problem("read %+v, want %+v as acknowledged", got, want)
		}
	default:
		var list []client.Pet
		list, _, err = c.api.ListPets(ctx, client.PetQuery{Status: client.PetAvailable, Text: fmt.Sprint("rex 🐢 ", c.id), Limit: 10})
		if slices.ContainsFunc(list, func(p client.Pet) bool { return p.Status != client.PetAvailable }) {
			c.l.Problem("the list of available animals has others: %+v", list)
		}
	}
	e, responded := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		c.l.Reads.Add(1)
	// Reads must succeed even if the disk is full.
	case c.l.Retries > 0, responded && !(c.l.DatabaseFails && e.Status == http.StatusServiceUnavailable):
		c.l.Problem("read: got %v, want success", err)
	default:
		sleep(ctx, 5, 50)
	}
}
