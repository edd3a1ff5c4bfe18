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
	api, err := client.New(s.clientProxy.url()+"/v1", programtest.AdminKey, client.WithHTTPClient(c.http), client.WithRetries(0))
	if err != nil {
		s.t.Fatal(err)
	}
	c.api = api
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
	for ctx.Err() == nil {
		c.turn++
		switch roll := c.rng.IntN(100); {
		case roll < 4:
			c.raceForCategories(ctx)
		case roll < 6:
			c.importPets(ctx)
		case roll < 24:
			c.addPet(ctx)
		case roll < 36:
			c.changePet(ctx)
		case roll < 42:
			c.removeOwnPet(ctx)
		case roll < 60:
			c.placeOrder(ctx)
		case roll < 72:
			c.advanceOrder(ctx)
		case roll < 78:
			c.addAndRemove(ctx)
		case roll < 82:
			c.changeCategory(ctx)
		case roll < 86:
			c.sendInvalid(ctx)
		case roll < 90:
			c.replayCreate(ctx)
		default:
			c.read(ctx)
		}
	}
}

// attempt sends the request for an operation once. It returns the subject of the operation's event if the
// response contains the subject.
type attempt func(context.Context) (subject string, err error)

// do sends the request for an operation, records the result and reports whether the service acknowledged the
// operation. It retries the request only if this client retries. The only refusals expected are those with
// the given codes. If a retry is refused, the result stays unknown, because an earlier attempt that got no
// response may have caused the refusal.
func (c *soakClient) do(ctx context.Context, op *operation, send attempt, refusals ...client.Code) bool {
	op.sent, op.result = time.Since(c.s.started), lost
	c.s.recordOperation(op)
	for first := true; ; first = false {
		// Even a client that is stopping must wait for the response.
		subject, err := send(context.WithoutCancel(ctx))
		e, responded := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			c.s.recordResult(op, done, subject)
			return true
		case responded && e.Status < 500 && e.Code != client.CodeIdempotencyKeyInUse:
			if !slices.Contains(refusals, e.Code) && first {
				c.s.problem("%q: got %v, want one of %q or success", op.eventKey, err, refusals)
			}
			if first {
				c.s.recordResult(op, refused, "")
			}
			return false
		case responded && e.Status != http.StatusServiceUnavailable && e.Code != client.CodeIdempotencyKeyInUse:
			c.s.problem("%q: got %v, want no server error but 503", op.eventKey, err)
		}
		c.backOff(ctx)
		if !c.retries || op.noRetry || ctx.Err() != nil {
			return false
		}
	}
}

// backOff waits for up to 50 ms or until the context ends.
func (c *soakClient) backOff(ctx context.Context) {
	select {
	case <-time.After(time.Duration(5+rand.IntN(45)) * time.Millisecond):
	case <-ctx.Done():
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
		return []int64{0, -7, math.MaxInt64, math.MinInt64, 1<<53 + 1}[c.rng.IntN(5)]
	case kind < 4:
		return int64(100 + c.rng.IntN(4)) // a category that other clients try to remove
	}
	return int64(1 + c.rng.IntN(5))
}

func (c *soakClient) addPet(ctx context.Context) {
	status := []client.PetStatus{"", client.PetPending, client.PetSold, client.PetAvailable}[min(3, c.rng.IntN(6))]
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
	ok = c.do(ctx, &operation{eventKey: "add " + n.Name}, func(ctx context.Context) (string, error) {
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
		return fmt.Sprint("pets/", pet.ID), errs[first]
	})
	if ok && (client.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}) != n {
		c.s.problem("the response to %+v is %+v", n, pet)
	}
	if ok && c.rng.IntN(4) == 0 {
		c.created = append(c.created, createdPet{n, key, pet.ID})
	}
	return pet, ok
}

// takeOwnPet removes a random animal from the client's own animals and returns it. It returns false if the
// client has no animals.
func (c *soakClient) takeOwnPet() (ownPet, bool) {
	if len(c.ownPets) == 0 {
		return ownPet{}, false
	}
	i := c.rng.IntN(len(c.ownPets))
	pet := c.ownPets[i]
	c.ownPets = slices.Delete(c.ownPets, i, i+1)
	return pet, true
}

// changePet renames an animal. It sometimes also changes the category or the status, which may make a sold
// animal available again.
func (c *soakClient) changePet(ctx context.Context) {
	pet, ok := c.takeOwnPet()
	if !ok {
		return
	}
	name := c.uniqueName("Tom")
	update := client.PetUpdate{Name: &name}
	// Without If-Match, a delayed first attempt could undo a later change, so the operation must not be
	// retried.
	op := &operation{eventKey: "rename " + name, noRetry: true}
	var conditions []client.Condition
	if c.retries { // with If-Match, a delayed attempt fails instead
		op.noRetry, conditions = false, []client.Condition{client.IfMatch(pet.ETag)}
	}
	if c.rng.IntN(3) == 0 {
		category := c.anyCategory()
		update.CategoryID = &category
	}
	if c.rng.IntN(3) == 0 {
		status := []client.PetStatus{client.PetAvailable, client.PetAvailable, client.PetPending, client.PetSold}[c.rng.IntN(4)]
		update.Status = &status
		if status == client.PetAvailable {
			op.returnsPet = pet.ID
		}
	}
	refusals := []client.Code{client.CodeInvalidTransition, client.CodePetHasOpenOrder}
	if pet.forSale { // an order may have changed the animal
		refusals = append(refusals, client.CodePreconditionFailed)
	}
	var after client.Pet
	ok = c.do(ctx, op, func(ctx context.Context) (subject string, err error) {
		after, err = c.api.UpdatePet(ctx, pet.ID, update, conditions...)
		return fmt.Sprint("pets/", pet.ID), err
	}, refusals...)
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

func (c *soakClient) removeOwnPet(ctx context.Context) {
	pet, ok := c.takeOwnPet()
	if !ok || !c.removePet(ctx, pet.ID) && c.rng.IntN(2) == 0 {
		return
	}
	c.do(ctx, &operation{eventKey: "rename " + c.uniqueName("Lazarus")}, func(ctx context.Context) (string, error) {
		name := c.uniqueName("Lazarus")
		_, err := c.api.UpdatePet(ctx, pet.ID, client.PetUpdate{Name: &name})
		return fmt.Sprint("pets/", pet.ID), err
	}, client.CodeNotFound)
}

func (c *soakClient) removePet(ctx context.Context, id int64) bool {
	subject := fmt.Sprint("pets/", id)
	return c.do(ctx, &operation{eventKey: "remove " + subject}, func(ctx context.Context) (string, error) {
		return subject, c.api.DeletePet(ctx, id)
	}, client.CodePetHasOpenOrder)
}
