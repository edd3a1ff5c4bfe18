package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
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
	forSale bool
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
	all := slices.Concat(actions{c.importPets}, slices.Repeat(actions{c.removePet, c.changeCategory, c.changeOrder, c.raceOrder}, 4),
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
// operation. The operation's event has a subject in the given collection, such as pets. It retries the request
// only if this client retries. The only refusals expected are those with the given codes. If a retry is
// refused, the result stays unknown, because an earlier attempt that got no response may have caused the
// refusal.
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

// isTemporary reports whether a client may repeat a request later. A key can have only a few imports at the same time,
// and gets a 429 for others.
func isTemporary(e *client.Error) bool {
	return e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests || e.Code == client.CodeIdempotencyKeyInUse
}

// uniqueName returns a name that this client uses only in the current turn and that no other client uses.
func (c *randomClient) uniqueName(what string) string {
	return fmt.Sprintf("%s %d.%d", what, c.id, c.turn)
}

// anyCategory returns a random category ID. Usually the category is one that many animals have, but sometimes
// it is new or has an extreme ID.
func (c *randomClient) anyCategory() int64 {
	switch kind := c.rng.IntN(20); {
	case kind == 0:
		return int64(1_000_000 + 100_000*c.id + c.turn) // a new category
	case kind == 1:
		return pick(c.rng, []int64{0, -7, math.MaxInt64, math.MinInt64, 1<<53 + 1})
	case kind < 4:
		return int64(100 + c.rng.IntN(4)) // a category that is often empty and removed
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

// addPet adds an animal. It sometimes sends the request twice at the same time with the same idempotency key.
func (c *randomClient) addPet(ctx context.Context) {
	status := pick(c.rng, []client.PetStatus{"", client.PetPending, client.PetSold, client.PetAvailable, client.PetAvailable, client.PetAvailable})
	n := client.NewPet{Name: c.uniqueName("Rex 🐢"), CategoryID: c.anyCategory(), Status: status}
	copies := 1 + c.rng.IntN(10)/9
	key := c.uniqueName("key")
	var pet client.Pet
	ok := c.do(ctx, &operation{eventKey: "add " + n.Name}, "pets", func(ctx context.Context) (int64, error) {
		pets, errs := make([]client.Pet, copies), make([]error, copies)
		var sending sync.WaitGroup
		for i := range copies {
			sending.Go(func() { pets[i], errs[i] = c.api.CreatePet(ctx, n, client.IdempotencyKey(key)) })
		}
		sending.Wait()
		first := max(0, slices.Index(errs, nil))
		for i, err := range errs {
			if err == nil && pets[i].ID != pets[first].ID {
				c.l.Problem("one idempotency key created two animals: %+v and %+v", pets[first], pets[i])
			}
		}
		pet = pets[first]
		return pet.ID, errs[first]
	})
	if !ok {
		return
	}
	if (client.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}) != n {
		c.l.Problem("the response to %+v is %+v", n, pet)
	}
	sells := status == client.PetAvailable && c.rng.IntN(4) > 0
	c.ownPets = append(c.ownPets, ownPet{pet, sells})
	if sells {
		c.l.offerForSale(pet.ID)
	}
}

// changePet renames an animal. It sometimes also changes the category or the status, which may make a sold
// animal available again.
func (c *randomClient) changePet(ctx context.Context) {
	pet, ok := take(c.rng, &c.ownPets)
	if !ok {
		return
	}
	name := c.uniqueName("Tom")
	update := client.PetUpdate{Name: &name}
	// Without If-Match, a delayed first attempt could undo a later change, so the operation must not be
	// retried. With If-Match, a delayed attempt fails instead. If an animal is for sale, an order may change it
	// between two attempts, so that nobody can tell which attempt has failed.
	op := &operation{eventKey: "rename " + name, noRetry: !c.retries || pet.forSale}
	var conditions []client.Condition
	if c.retries {
		conditions = []client.Condition{client.IfMatch(pet.ETag)}
	}
	if c.rng.IntN(3) == 0 {
		category := c.anyCategory()
		update.CategoryID = &category
	}
	if c.rng.IntN(3) == 0 {
		status := pick(c.rng, []client.PetStatus{client.PetAvailable, client.PetAvailable, client.PetPending, client.PetSold})
		update.Status = &status
	}
	refusals := []client.Code{client.CodeInvalidTransition, client.CodePetHasOpenOrder}
	if pet.forSale { // an order may have changed the animal
		refusals = append(refusals, client.CodePreconditionFailed)
	}
	var after client.Pet
	ok = c.do(ctx, op, "pets", func(ctx context.Context) (_ int64, err error) {
		after, err = c.api.UpdatePet(ctx, pet.ID, update, conditions...)
		return pet.ID, err
	}, refusals...)
	if ok {
		pet.Pet = after
	} else if op.result == lost || pet.forSale {
		return // the animal's state is unknown
	}
	c.ownPets = append(c.ownPets, pet)
}

// removePet removes an animal and then its category, to which other clients may be adding animals. The
// removal of a category is never retried because a retry might remove a new category with the same ID.
func (c *randomClient) removePet(ctx context.Context) {
	pet, ok := take(c.rng, &c.ownPets)
	if ok && c.do(ctx, &operation{eventKey: fmt.Sprint("remove pets/", pet.ID)}, "pets", func(ctx context.Context) (int64, error) {
		return pet.ID, c.api.DeletePet(ctx, pet.ID)
	}, client.CodePetHasOpenOrder) {
		op := &operation{eventKey: fmt.Sprint("remove categories/", pet.CategoryID), noRetry: true}
		c.do(ctx, op, "categories", func(ctx context.Context) (int64, error) {
			return 0, c.api.DeleteCategory(ctx, pet.CategoryID)
		}, client.CodeCategoryInUse, client.CodeNotFound)
	}
}

// changeCategory creates a category or renames one. A change is never retried because another client may
// rename the category before the retry.
func (c *randomClient) changeCategory(ctx context.Context) {
	name, id := c.uniqueName("kind"), c.anyCategory()
	create := c.rng.IntN(2) == 0
	c.do(ctx, &operation{eventKey: "name " + name, noRetry: !create}, "categories", func(ctx context.Context) (int64, error) {
		if create {
			made, err := c.api.CreateCategory(ctx, name, client.IdempotencyKey(name))
			return made.ID, err
		}
		_, _, err := c.api.PutCategory(ctx, id, name)
		return 0, err
	})
}

// placeOrder orders an animal for which other clients compete.
func (c *randomClient) placeOrder(ctx context.Context) {
	id, ok := c.l.anyForSale(c.rng)
	if !ok {
		return
	}
	reference := c.uniqueName("order")
	var order client.Order
	if c.do(ctx, &operation{eventKey: "place " + reference}, "store/orders", func(ctx context.Context) (_ int64, err error) {
		order, err = c.api.PlaceOrder(ctx, client.NewOrder{PetID: id, Reference: reference}, client.IdempotencyKey(reference))
		return order.ID, err
	}, client.CodePetNotAvailable, client.CodePetNotFound) {
		c.orders = append(c.orders, order)
	}
}

// advanceOrder approves, delivers or cancels one of the client's orders. The order's hold may already have
// expired.
func (c *randomClient) advanceOrder(ctx context.Context) {
	order, ok := take(c.rng, &c.orders)
	if !ok {
		return
	}
	to := client.OrderCancelled
	if c.rng.IntN(4) > 0 {
		to = nextStatus[order.Status]
	}
	if after, ok := c.setStatus(ctx, order, to); ok && after.Status == client.OrderApproved {
		c.orders = append(c.orders, after)
	}
}

// nextStatus is the status after each status that leads to a sale.
var nextStatus = map[client.OrderStatus]client.OrderStatus{client.OrderPlaced: client.OrderApproved, client.OrderApproved: client.OrderDelivered}

// setStatus changes the status of an order and reports whether the service acknowledged the change.
func (c *randomClient) setStatus(ctx context.Context, order client.Order, to client.OrderStatus) (after client.Order, ok bool) {
	op := &operation{eventKey: fmt.Sprintf("order.%s store/orders/%d", to, order.ID)}
	ok = c.do(ctx, op, "store/orders", func(ctx context.Context) (_ int64, err error) {
		after, err = c.api.UpdateOrder(ctx, order.ID, client.OrderUpdate{Status: &to})
		return order.ID, err
	}, client.CodeInvalidTransition)
	return after, ok
}

// raceOrder advances and cancels one of the client's orders at the same time, perhaps on different nodes.
func (c *randomClient) raceOrder(ctx context.Context) {
	order, ok := take(c.rng, &c.orders)
	if !ok {
		return
	}
	var racing sync.WaitGroup
	for _, to := range []client.OrderStatus{nextStatus[order.Status], client.OrderCancelled} {
		racing.Go(func() { c.setStatus(ctx, order, to) })
	}
	racing.Wait()
}

// changeOrder changes the reference of one of the client's orders and extends its hold if it still has one.
func (c *randomClient) changeOrder(ctx context.Context) {
	if len(c.orders) == 0 {
		return
	}
	order := &c.orders[c.rng.IntN(len(c.orders))]
	update := client.OrderUpdate{Reference: new(c.uniqueName("reference"))}
	if order.Status == client.OrderPlaced {
		update.HoldExpiresAt = new(order.HoldExpiresAt.Add(time.Second))
	}
	op := &operation{eventKey: fmt.Sprint(client.EventOrderUpdated, " ", *update.Reference)}
	c.do(ctx, op, "store/orders", func(ctx context.Context) (int64, error) {
		after, err := c.api.UpdateOrder(ctx, order.ID, update)
		if err == nil {
			*order = after
		}
		return order.ID, err
	}, client.CodeInvalidTransition, client.CodeValidationFailed)
}

// importPets imports several animals in one request, which must create either all of them or none.
func (c *randomClient) importPets(ctx context.Context) {
	pets := make([]client.NewPet, 2+c.rng.IntN(12))
	operations := make([]*operation, len(pets))
	key := c.uniqueName("import")
	for i := range pets {
		pets[i] = client.NewPet{Name: fmt.Sprintf("%s/%d", key, i), CategoryID: c.anyCategory(), Status: client.PetPending}
		operations[i] = &operation{eventKey: "add " + pets[i].Name, batch: key}
		if i > 0 {
			c.l.recordOperation(operations[i])
		}
	}
	c.do(ctx, operations[0], "pets", func(ctx context.Context) (int64, error) {
		imported, err := c.api.ImportPets(ctx, pets, client.IdempotencyKey(key))
		if err == nil && imported.Created != len(pets) {
			c.l.Problem("the response to an import of %d animals is %+v", len(pets), imported)
		}
		return 0, err
	})
	for _, op := range operations[1:] {
		op.responded, op.result = operations[0].responded, operations[0].result
	}
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
