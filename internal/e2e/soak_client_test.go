package e2e

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
)

// visitor comes to the shop again and again, and does this and that. Some insist: what they had no answer to they ask for again,
// which must not make it happen twice.
type visitor struct {
	s       *soak
	id, n   int
	insists bool
	dice    *rand.Rand
	http    *http.Client
	c       *client.Client

	own    []ownPet
	orders []client.Order // that it has placed
	posted []posted       // what it has been answered before
}

// ownPet is an animal that nobody else changes, but by orders where it is for sale.
type ownPet struct {
	client.Pet
	forSale bool
}

// posted is a POST with its answer.
type posted struct {
	pet client.NewPet
	key string
	id  int64
}

func newVisitor(s *soak, id int) *visitor {
	v := &visitor{s: s, id: id, insists: id%2 == 0, dice: rand.New(rand.NewPCG(s.seed, uint64(id)))}
	v.http = &http.Client{Transport: counted{&http.Transport{MaxIdleConnsPerHost: 6}, s}, Timeout: patience}
	c, err := client.New(s.road.url()+"/v1", adminKey, client.WithHTTPClient(v.http), client.WithRetries(0))
	if err != nil {
		s.t.Fatal(err)
	}
	v.c = c
	return v
}

// counted counts what was sent, and what became of it.
type counted struct {
	*http.Transport
	s *soak
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.s.requests.Add(1)
	r = r.Clone(r.Context())
	r.GetBody = nil // else the transport itself sends again what has an idempotency key, and nobody knows that there was no answer
	response, err := c.Transport.RoundTrip(r)
	switch {
	case err != nil:
		c.s.unanswered.Add(1)
	case response.StatusCode == http.StatusServiceUnavailable && r.Method != http.MethodGet:
		c.s.unavailable.Add(1)
		if response.Header.Get("Retry-After") == "" {
			c.s.problem("%s %s got a 503 without Retry-After", r.Method, r.URL.Path)
		}
	}
	return response, err
}

// come visits the shop until it is time to go.
func (v *visitor) come(ctx context.Context) {
	defer v.http.CloseIdleConnections()
	for ctx.Err() == nil {
		v.n++
		switch dice := v.dice.IntN(100); {
		case dice < 4:
			v.wander(ctx)
		case dice < 6:
			v.bringMany(ctx)
		case dice < 24:
			v.add(ctx)
		case dice < 36:
			v.change(ctx)
		case dice < 42:
			v.remove(ctx)
		case dice < 60:
			v.order(ctx)
		case dice < 72:
			v.advance(ctx)
		case dice < 78:
			v.fleeting(ctx)
		case dice < 82:
			v.category(ctx)
		case dice < 86:
			v.mistake(ctx)
		case dice < 90:
			v.repeat(ctx)
		default:
			v.look(ctx)
		}
	}
}

// act asks for a change, and returns the subject of its event where the answer tells.
type act func(context.Context) (subject string, err error)

// try makes a change, and writes down what came of it. Whoever insists asks until there is an answer; a refusal after a silence
// may be because of what was done then. No refusal but these is as it should be.
func (v *visitor) try(ctx context.Context, d *deed, act act, refusals ...client.Code) bool {
	d.sent, d.verdict = time.Since(v.s.begun), lost
	v.s.note(d)
	for first := true; ; first = false {
		subject, err := act(context.WithoutCancel(ctx)) // who goes waits for what was begun
		e, answered := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			v.s.settle(d, done, subject)
			return true
		case answered && e.Status < 500 && e.Code != client.CodeIdempotencyKeyInUse:
			if !slices.Contains(refusals, e.Code) && first {
				v.s.problem("%q was refused: %v", d.mark, err)
			}
			if first {
				v.s.settle(d, refused, "")
			}
			return false
		case answered && e.Status != http.StatusServiceUnavailable && e.Code != client.CodeIdempotencyKeyInUse:
			v.s.problem("%q got %v", d.mark, err)
		}
		v.rest(ctx)
		if !v.insists || d.once || ctx.Err() != nil {
			return false
		}
	}
}

// rest is a moment in which somebody else may do something.
func (v *visitor) rest(ctx context.Context) {
	select {
	case <-time.After(time.Duration(5+rand.IntN(45)) * time.Millisecond):
	case <-ctx.Done():
	}
}

// name is one that nobody has used before, once for each visit.
func (v *visitor) name(what string) string { return fmt.Sprintf("%s %d.%d", what, v.id, v.n) }

// anyCategory is one that many have, or nobody yet.
func (v *visitor) anyCategory() int64 {
	switch dice := v.dice.IntN(20); {
	case dice == 0:
		return int64(1_000_000 + 100_000*v.id + v.n) // nobody has named it before
	case dice == 1:
		return []int64{0, -7, math.MaxInt64, math.MinInt64, 1<<53 + 1}[v.dice.IntN(5)]
	case dice < 4:
		return int64(100 + v.dice.IntN(4)) // one that others remove
	}
	return int64(1 + v.dice.IntN(5))
}

func (v *visitor) add(ctx context.Context) {
	status := []client.PetStatus{"", client.PetPending, client.PetSold, client.PetAvailable}[min(3, v.dice.IntN(6))]
	n := client.NewPet{Name: v.name("Rex 🐢"), CategoryID: v.anyCategory(), Status: status}
	if pet, ok := v.bring(ctx, n); ok {
		sells := status == client.PetAvailable && v.dice.IntN(4) > 0
		v.own = append(v.own, ownPet{pet, sells})
		if sells {
			v.s.offer(pet.ID)
		}
	}
}

// bring adds an animal; at times it is asked for twice at once, under one key.
func (v *visitor) bring(ctx context.Context, n client.NewPet) (pet client.Pet, ok bool) {
	twins := 1 + v.dice.IntN(10)/9
	key := v.name("key")
	ok = v.try(ctx, &deed{mark: "add " + n.Name}, func(ctx context.Context) (string, error) {
		answers, errs := make([]client.Pet, twins), make([]error, twins)
		var asking sync.WaitGroup
		for i := range twins {
			asking.Go(func() { answers[i], errs[i] = v.c.CreatePet(ctx, n, client.IdempotencyKey(key)) })
		}
		asking.Wait()
		first := max(0, slices.Index(errs, nil))
		for i, err := range errs {
			if err == nil && answers[i].ID != answers[first].ID {
				v.s.problem("one key, and two animals: %+v and %+v", answers[first], answers[i])
			}
		}
		pet = answers[first]
		return fmt.Sprint("pets/", pet.ID), errs[first]
	})
	if ok && (client.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}) != n {
		v.s.problem("%+v was answered with %+v", n, pet)
	}
	if ok && v.dice.IntN(4) == 0 {
		v.posted = append(v.posted, posted{n, key, pet.ID})
	}
	return pet, ok
}

// pick takes an animal of the visitor's own out of its list.
func (v *visitor) pick() (ownPet, bool) {
	if len(v.own) == 0 {
		return ownPet{}, false
	}
	i := v.dice.IntN(len(v.own))
	pet := v.own[i]
	v.own = slices.Delete(v.own, i, i+1)
	return pet, true
}

// change gives an animal another name, and perhaps another category or status: also brings back one that was sold.
func (v *visitor) change(ctx context.Context) {
	pet, ok := v.pick()
	if !ok {
		return
	}
	name := v.name("Tom")
	update := client.PetUpdate{Name: &name}
	d := &deed{mark: "rename " + name, once: true} // one that was lost may come after the next, and undo it
	var conditions []client.Condition
	if v.insists { // it cannot, because it would find another animal then
		d.once, conditions = false, []client.Condition{client.IfMatch(pet.ETag)}
	}
	if v.dice.IntN(3) == 0 {
		category := v.anyCategory()
		update.CategoryID = &category
	}
	if v.dice.IntN(3) == 0 {
		status := []client.PetStatus{client.PetAvailable, client.PetAvailable, client.PetPending, client.PetSold}[v.dice.IntN(4)]
		update.Status = &status
		if status == client.PetAvailable {
			d.comesBack = pet.ID
		}
	}
	refusals := []client.Code{client.CodeInvalidTransition, client.CodePetHasOpenOrder}
	if pet.forSale { // an order may have changed it
		refusals = append(refusals, client.CodePreconditionFailed)
	}
	var after client.Pet
	ok = v.try(ctx, d, func(ctx context.Context) (subject string, err error) {
		after, err = v.c.UpdatePet(ctx, pet.ID, update, conditions...)
		return fmt.Sprint("pets/", pet.ID), err
	}, refusals...)
	switch {
	case ok:
		pet.Pet = after
	case d.verdict == lost:
		return // it is not known what the animal is now
	case pet.forSale:
		if now, err := v.c.GetPet(context.WithoutCancel(ctx), pet.ID); err == nil {
			pet.Pet = now
		}
	}
	v.own = append(v.own, pet)
}

func (v *visitor) remove(ctx context.Context) {
	pet, ok := v.pick()
	if !ok || !v.removePet(ctx, pet.ID) && v.dice.IntN(2) == 0 {
		return
	}
	v.try(ctx, &deed{mark: "rename " + v.name("Lazarus")}, func(ctx context.Context) (string, error) {
		name := v.name("Lazarus")
		_, err := v.c.UpdatePet(ctx, pet.ID, client.PetUpdate{Name: &name})
		return fmt.Sprint("pets/", pet.ID), err
	}, client.CodeNotFound)
}

func (v *visitor) removePet(ctx context.Context, id int64) bool {
	subject := fmt.Sprint("pets/", id)
	return v.try(ctx, &deed{mark: "remove " + subject}, func(ctx context.Context) (string, error) {
		return subject, v.c.DeletePet(ctx, id)
	}, client.CodePetHasOpenOrder)
}
