package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// soakClient sends random requests. Half of the clients retry requests that got no response. A retry must not
// apply a change twice.
type soakClient struct {
	s        *soak
	id, turn int
	retries  bool
	rng      *rand.Rand
	http     *http.Client
	api      *client.Client

	ownPets []ownPet
	orders  []client.Order // the open orders that this client has placed
	created []createdPet   // the requests that replayCreate can repeat
}

// ownPet is an animal that other clients cannot change, except by ordering it if it is for sale.
type ownPet struct {
	client.Pet
	forSale bool
}

// createdPet is an acknowledged request to create an animal. It consists of the request body, the idempotency
// key and the new animal's ID.
type createdPet struct {
	pet client.NewPet
	key string
	id  int64
}

func newSoakClient(s *soak, id int) *soakClient {
	c := &soakClient{s: s, id: id, retries: id%2 == 0, rng: rand.New(rand.NewPCG(s.seed, uint64(id)))}
	c.http = &http.Client{Transport: countingTransport{&http.Transport{MaxIdleConnsPerHost: 6}, s}, Timeout: programtest.WaitTimeout}
	c.api = s.newClient(s.clientProxy.url(), c.http, client.WithRetries(0))
	return c
}

// countingTransport counts all requests, the requests that got no response, and the writes that got a 503.
// Such a 503 must have a Retry-After header.
type countingTransport struct {
	*http.Transport
	s *soak
}

func (c countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.s.requests.Add(1)
	r = r.Clone(r.Context())
	// If GetBody were set, net/http would itself retry requests with an idempotency key and hide missing
	// responses.
	r.GetBody = nil
	response, err := c.Transport.RoundTrip(r)
	switch {
	case err != nil:
		c.s.unanswered.Add(1)
	case response.StatusCode == http.StatusServiceUnavailable && r.Method != http.MethodGet:
		c.s.unavailable.Add(1)
		if response.Header.Get("Retry-After") == "" {
			c.s.problem("%s %s: got a 503 without Retry-After", r.Method, r.URL.Path)
		}
	}
	return response, err
}

// run sends random requests until the context ends.
func (c *soakClient) run(ctx context.Context) {
	defer c.http.CloseIdleConnections()
	type actions []func(context.Context)
	all := slices.Concat(actions{c.importPets},
		slices.Repeat(actions{c.raceForCategories, c.changeCategory, c.sendInvalid, c.replayCreate}, 2),
		slices.Repeat(actions{c.removeOwnPet, c.addAndRemove}, 3), slices.Repeat(actions{c.read}, 5),
		slices.Repeat(actions{c.changePet, c.advanceOrder}, 6), slices.Repeat(actions{c.addPet, c.placeOrder}, 9))
	for ctx.Err() == nil {
		c.turn++
		all[c.rng.IntN(len(all))](ctx)
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
func (c *soakClient) do(ctx context.Context, op *operation, collection string, send attempt, refusals ...client.Code) bool {
	c.s.recordOperation(op)
	for first := true; ; first = false {
		// Even a client that is stopping must wait for the response.
		id, err := send(context.WithoutCancel(ctx))
		e, responded := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			op.responded, op.result = time.Since(c.s.started), done
			if id != 0 {
				op.subject = fmt.Sprint(collection, "/", id)
			}
			c.s.acknowledged.Add(1)
			return true
		case responded && e.Status < 500 && e.Code != client.CodeIdempotencyKeyInUse:
			if !first {
				return false
			}
			op.responded, op.result = time.Since(c.s.started), refused
			if !slices.Contains(refusals, e.Code) {
				c.s.problem("%q: got %v, want one of %q or success", op.eventKey, err, refusals)
			}
			return false
		case responded && e.Status != http.StatusServiceUnavailable && e.Code != client.CodeIdempotencyKeyInUse:
			c.s.problem("%q: got %v, want no server error but 503", op.eventKey, err)
		}
		sleep(ctx, 5, 50)
		if !c.retries || op.noRetry || ctx.Err() != nil {
			return false
		}
	}
}

// uniqueName returns a name that this client uses only in the current turn and that no other client uses.
func (c *soakClient) uniqueName(what string) string {
	return fmt.Sprintf("%s %d.%d", what, c.id, c.turn)
}

// anyCategory returns a random category ID. Usually the category is one that many animals have, but sometimes
// it is new or has an extreme ID.
func (c *soakClient) anyCategory() int64 {
	switch kind := c.rng.IntN(20); {
	case kind == 0:
		return int64(1_000_000 + 100_000*c.id + c.turn) // a new category
	case kind == 1:
		return pick(c.rng, []int64{0, -7, math.MaxInt64, math.MinInt64, 1<<53 + 1})
	case kind < 4:
		return c.sharedCategory()
	}
	return int64(1 + c.rng.IntN(5))
}

// sharedCategory returns a category that other clients try to remove.
func (c *soakClient) sharedCategory() int64 { return int64(100 + c.rng.IntN(4)) }

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

func (c *soakClient) addPet(ctx context.Context) {
	status := pick(c.rng, []client.PetStatus{"", client.PetPending, client.PetSold, client.PetAvailable, client.PetAvailable, client.PetAvailable})
	n := client.NewPet{Name: c.uniqueName("Rex 🐢"), CategoryID: c.anyCategory(), Status: status}
	if pet, ok := c.createPet(ctx, n); ok {
		sells := status == client.PetAvailable && c.rng.IntN(4) > 0
		c.ownPets = append(c.ownPets, ownPet{pet, sells})
		if sells {
			c.s.offerForSale(pet.ID)
		}
	}
}

// createPet creates an animal. It sometimes sends the request twice at the same time with the same
// idempotency key.
func (c *soakClient) createPet(ctx context.Context, n client.NewPet) (pet client.Pet, ok bool) {
	copies := 1 + c.rng.IntN(10)/9
	key := c.uniqueName("key")
	ok = c.do(ctx, &operation{eventKey: "add " + n.Name}, "pets", func(ctx context.Context) (int64, error) {
		pets, errs := make([]client.Pet, copies), make([]error, copies)
		var sending sync.WaitGroup
		for i := range copies {
			sending.Go(func() { pets[i], errs[i] = c.api.CreatePet(ctx, n, client.IdempotencyKey(key)) })
		}
		sending.Wait()
		first := max(0, slices.Index(errs, nil))
		for i, err := range errs {
			if err == nil && pets[i].ID != pets[first].ID {
				c.s.problem("one idempotency key created two animals: %+v and %+v", pets[first], pets[i])
			}
		}
		pet = pets[first]
		return pet.ID, errs[first]
	})
	if ok && (client.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}) != n {
		c.s.problem("the response to %+v is %+v", n, pet)
	}
	if ok && c.turn%4 == 0 {
		c.created = append(c.created, createdPet{n, key, pet.ID})
	}
	return pet, ok
}

// renamePet renames an animal and makes other changes in the same request.
func (c *soakClient) renamePet(ctx context.Context, op *operation, id int64, name string, update client.PetUpdate,
	conditions []client.Condition, refusals ...client.Code) (pet client.Pet, ok bool) {
	op.eventKey, update.Name = "rename "+name, &name
	ok = c.do(ctx, op, "pets", func(ctx context.Context) (_ int64, err error) {
		pet, err = c.api.UpdatePet(ctx, id, update, conditions...)
		return id, err
	}, refusals...)
	return pet, ok
}

// changePet renames an animal. It sometimes also changes the category or the status, which may make a sold
// animal available again.
func (c *soakClient) changePet(ctx context.Context) {
	pet, ok := take(c.rng, &c.ownPets)
	if !ok {
		return
	}
	// Without If-Match, a delayed first attempt could undo a later change, so the operation must not be
	// retried. With If-Match, a delayed attempt fails instead.
	op := &operation{noRetry: !c.retries}
	var conditions []client.Condition
	if c.retries {
		conditions = []client.Condition{client.IfMatch(pet.ETag)}
	}
	var update client.PetUpdate
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
	after, ok := c.renamePet(ctx, op, pet.ID, c.uniqueName("Tom"), update, conditions, refusals...)
	switch {
	case ok:
		pet.Pet = after
	case op.result == lost:
		return // the animal's state is unknown
	case pet.forSale:
		if now, err := c.api.GetPet(context.WithoutCancel(ctx), pet.ID); err == nil {
			pet.Pet = now
		}
	}
	c.ownPets = append(c.ownPets, pet)
}

// removeOwnPet removes an animal and then tries to rename it.
func (c *soakClient) removeOwnPet(ctx context.Context) {
	pet, ok := take(c.rng, &c.ownPets)
	if ok && (c.removePet(ctx, pet.ID) || c.rng.IntN(2) == 0) {
		c.renamePet(ctx, &operation{}, pet.ID, c.uniqueName("Lazarus"), client.PetUpdate{}, nil, client.CodeNotFound)
	}
}

func (c *soakClient) removePet(ctx context.Context, id int64) bool {
	return c.do(ctx, &operation{eventKey: fmt.Sprint("remove pets/", id)}, "pets", func(ctx context.Context) (int64, error) {
		return id, c.api.DeletePet(ctx, id)
	}, client.CodePetHasOpenOrder)
}

// removeCategory removes a category. It is never retried because a retry might remove a new category with the
// same ID.
func (c *soakClient) removeCategory(ctx context.Context, id int64) {
	op := &operation{eventKey: fmt.Sprint("remove categories/", id), noRetry: true}
	c.do(ctx, op, "categories", func(ctx context.Context) (int64, error) {
		return id, c.api.DeleteCategory(ctx, id)
	}, client.CodeCategoryInUse, client.CodeNotFound)
}

// addAndRemove adds an animal, removes it and then removes its category while other clients add animals to
// the same category.
func (c *soakClient) addAndRemove(ctx context.Context) {
	category := c.sharedCategory()
	pet, ok := c.createPet(ctx, client.NewPet{Name: c.uniqueName("Moth"), CategoryID: category})
	if ok && c.removePet(ctx, pet.ID) {
		c.removeCategory(ctx, category)
	}
}

// raceForCategories concurrently moves an animal to two new categories, removes both categories and adds
// other animals to them. The service may execute several requests in one transaction. In that case, a request
// must not rely on what an earlier request in the transaction has read about a category.
func (c *soakClient) raceForCategories(ctx context.Context) {
	pet, ok := c.createPet(ctx, client.NewPet{Name: c.uniqueName("Nomad"), CategoryID: 1})
	if !ok {
		return
	}
	var sending sync.WaitGroup
	for i := range 2 {
		category := int64(10_000_000 + 1_000_000*c.id + 2*c.turn + i)
		guest := client.NewPet{Name: c.uniqueName(fmt.Sprint("Guest in ", i)), CategoryID: category}
		name := c.uniqueName(fmt.Sprint("Nomad in ", i))
		sending.Go(func() {
			c.renamePet(ctx, &operation{noRetry: true}, pet.ID, name, client.PetUpdate{CategoryID: &category}, nil)
		})
		sending.Go(func() { c.removeCategory(ctx, category) })
		sending.Go(func() {
			c.do(ctx, &operation{eventKey: "add " + guest.Name}, "pets", func(ctx context.Context) (int64, error) {
				added, err := c.api.CreatePet(ctx, guest, client.IdempotencyKey(guest.Name))
				return added.ID, err
			})
		})
	}
	sending.Wait()
}

func (c *soakClient) changeCategory(ctx context.Context) {
	name := c.uniqueName("kind")
	op := &operation{eventKey: "name " + name}
	if c.rng.IntN(2) == 0 {
		op.noRetry = true // another client may rename the category before a retry
		id := int64(1 + c.rng.IntN(5))
		c.do(ctx, op, "categories", func(ctx context.Context) (int64, error) {
			_, _, err := c.api.PutCategory(ctx, id, name)
			return id, err
		})
		return
	}
	var made client.Category
	if c.do(ctx, op, "categories", func(ctx context.Context) (_ int64, err error) {
		made, err = c.api.CreateCategory(ctx, name, client.IdempotencyKey(name))
		return made.ID, err
	}) && c.rng.IntN(2) == 0 {
		c.removeCategory(ctx, made.ID)
	}
}

// placeOrder orders an animal for which other clients compete.
func (c *soakClient) placeOrder(ctx context.Context) {
	id, ok := c.s.anyForSale(c.rng)
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
func (c *soakClient) advanceOrder(ctx context.Context) {
	order, ok := take(c.rng, &c.orders)
	if !ok {
		return
	}
	act, what := c.api.CancelOrder, client.EventOrderCancelled
	if c.rng.IntN(4) > 0 {
		act, what = c.api.ApproveOrder, client.EventOrderApproved
		if order.Status == client.OrderApproved {
			act, what = c.api.DeliverOrder, client.EventOrderDelivered
		}
	}
	op := &operation{eventKey: fmt.Sprintf("%s store/orders/%d", what, order.ID)}
	if c.do(ctx, op, "store/orders", func(ctx context.Context) (int64, error) {
		after, err := act(ctx, order.ID)
		order.Status = after.Status
		return order.ID, err
	}, client.CodeInvalidTransition) && order.Status == client.OrderApproved {
		c.orders = append(c.orders, order)
	}
}

// importPets imports several animals in one request, which must create either all of them or none. Sometimes
// one animal is invalid, and then the import must be refused.
func (c *soakClient) importPets(ctx context.Context) {
	pets := make([]client.NewPet, 2+c.rng.IntN(12))
	operations := make([]*operation, len(pets))
	key := c.uniqueName("import")
	for i := range pets {
		pets[i] = client.NewPet{Name: fmt.Sprintf("%s/%d", key, i), CategoryID: c.anyCategory(), Status: client.PetPending}
		operations[i] = &operation{eventKey: "add " + pets[i].Name, batch: key}
		if i > 0 {
			c.s.recordOperation(operations[i])
		}
	}
	refusals := []client.Code{}
	if c.rng.IntN(5) == 0 {
		pets[c.rng.IntN(len(pets))].Status = "mislaid"
		refusals = append(refusals, client.CodeValidationFailed)
	}
	ok := c.do(ctx, operations[0], "pets", func(ctx context.Context) (int64, error) {
		imported, err := c.api.ImportPets(ctx, pets, client.IdempotencyKey(key))
		if err == nil && imported.Created != len(pets) {
			c.s.problem("the response to an import of %d animals is %+v", len(pets), imported)
		}
		return 0, err
	}, refusals...)
	for _, op := range operations[1:] {
		op.responded, op.result = operations[0].responded, operations[0].result
	}
	if ok && len(refusals) > 0 {
		c.s.problem("import %q is invalid, but was not refused", key)
	}
}

// sendInvalid sends a request that must be refused without affecting other requests in the same transaction.
func (c *soakClient) sendInvalid(ctx context.Context) {
	name := c.uniqueName("Nobody")
	accepted := false
	switch kind := c.rng.IntN(3); {
	case kind == 0 && len(c.ownPets) > 0:
		stale := []client.Condition{client.IfMatch(`"stale"`)}
		_, accepted = c.renamePet(ctx, &operation{}, pick(c.rng, c.ownPets).ID, name, client.PetUpdate{}, stale, client.CodePreconditionFailed)
	case kind == 1:
		accepted = c.do(ctx, &operation{eventKey: "place " + name}, "store/orders", func(ctx context.Context) (int64, error) {
			_, err := c.api.PlaceOrder(ctx, client.NewOrder{PetID: math.MaxInt64, Reference: name})
			return 0, err
		}, client.CodePetNotFound)
	case len(c.created) > 0:
		key := client.IdempotencyKey(pick(c.rng, c.created).key)
		accepted = c.do(ctx, &operation{eventKey: "add " + name}, "pets", func(ctx context.Context) (int64, error) {
			_, err := c.api.CreatePet(ctx, client.NewPet{Name: name}, key)
			return 0, err
		}, client.CodeIdempotencyKeyReused)
	}
	if accepted {
		c.s.problem("%q is invalid, but was not refused", name)
	}
}

// replayCreate repeats an acknowledged request with the same idempotency key and expects the same animal. The
// process that handled the original request may no longer exist.
func (c *soakClient) replayCreate(ctx context.Context) {
	if len(c.created) == 0 {
		return
	}
	p := pick(c.rng, c.created)
	again, err := c.api.CreatePet(context.WithoutCancel(ctx), p.pet, client.IdempotencyKey(p.key))
	e, responded := errors.AsType[*client.Error](err)
	switch {
	case err == nil && again.ID != p.id,
		responded && e.Status != http.StatusServiceUnavailable && e.Code != client.CodeIdempotencyKeyInUse:
		c.s.problem("replay of %+v: got %+v, %v, want animal %d", p.pet, again, err, p.id)
	case err == nil:
		c.s.replays.Add(1)
	default:
		sleep(ctx, 5, 50)
	}
}

// read sends a random GET request. The client's own animals and orders must be in the state that was last
// acknowledged.
func (c *soakClient) read(ctx context.Context) {
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
			c.s.problem("read %+v, want %+v as acknowledged", got, want.Pet)
		}
	case kind == 2 && len(c.orders) > 0:
		want := pick(c.rng, c.orders)
		var got client.Order
		got, err = c.api.GetOrder(ctx, want.ID)
		if err == nil && got.Status != want.Status && !(want.Status == client.OrderPlaced && got.Status == client.OrderExpired) {
			c.s.problem("read %+v, want %+v as acknowledged", got, want)
		}
	default:
		var list []client.Pet
		list, _, err = c.api.ListPets(ctx, client.PetQuery{Status: client.PetAvailable, Text: fmt.Sprint("rex 🐢 ", c.id), Limit: 10})
		if slices.ContainsFunc(list, func(p client.Pet) bool { return p.Status != client.PetAvailable }) {
			c.s.problem("the list of available animals has others: %+v", list)
		}
	}
	e, responded := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		c.s.reads.Add(1)
	// Reads must succeed even if the disk is full.
	case responded && !(c.s.databaseFails && e.Status == http.StatusServiceUnavailable):
		c.s.problem("read: got %v, want success", err)
	default:
		sleep(ctx, 5, 50)
	}
}
