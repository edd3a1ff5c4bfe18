package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"

	"animalstore/client"
)

// placeOrder orders an animal for which other clients compete.
func (c *soakClient) placeOrder(ctx context.Context) {
	id, ok := c.s.anyForSale(c.rng)
	if !ok {
		return
	}
	reference := c.uniqueName("order")
	var order client.Order
	ok = c.do(ctx, &operation{eventKey: "place " + reference}, func(ctx context.Context) (subject string, err error) {
		order, err = c.api.PlaceOrder(ctx, client.NewOrder{PetID: id, Reference: reference}, client.IdempotencyKey(reference))
		return fmt.Sprint("store/orders/", order.ID), err
	}, client.CodePetNotAvailable, client.CodePetNotFound)
	if ok {
		c.orders = append(c.orders, order)
	}
}

// advanceOrder approves, delivers or cancels one of the client's orders. The order's hold may already have
// expired.
func (c *soakClient) advanceOrder(ctx context.Context) {
	if len(c.orders) == 0 {
		return
	}
	i := c.rng.IntN(len(c.orders))
	order := c.orders[i]
	c.orders = slices.Delete(c.orders, i, i+1)
	act, what := c.api.CancelOrder, client.EventOrderCancelled
	if c.rng.IntN(4) > 0 {
		act, what = c.api.ApproveOrder, client.EventOrderApproved
		if order.Status == client.OrderApproved {
			act, what = c.api.DeliverOrder, client.EventOrderDelivered
		}
	}
	subject := fmt.Sprint("store/orders/", order.ID)
	ok := c.do(ctx, &operation{eventKey: string(what) + " " + subject}, func(ctx context.Context) (string, error) {
		after, err := act(ctx, order.ID)
		order.Status = after.Status
		return subject, err
	}, client.CodeInvalidTransition)
	if ok && order.Status == client.OrderApproved {
		c.orders = append(c.orders, order)
	}
}

// addAndRemove adds an animal, removes it and then removes its category while other clients add animals to
// the same category.
func (c *soakClient) addAndRemove(ctx context.Context) {
	category := int64(100 + c.rng.IntN(4))
	pet, ok := c.createPet(ctx, client.NewPet{Name: c.uniqueName("Moth"), CategoryID: category})
	if ok && c.removePet(ctx, pet.ID) {
		c.removeCategory(ctx, category)
	}
}

// raceForCategories concurrently moves an animal to two new categories, removes both categories and adds
// other animals to them. The service may execute several requests in one transaction. In that case, a request
// must not rely on what an earlier request in the transaction has read about a category.
func (c *soakClient) raceForCategories(ctx context.Context) {
	categories := [2]int64{int64(10_000_000 + 1_000_000*c.id + 2*c.turn), int64(10_000_001 + 1_000_000*c.id + 2*c.turn)}
	pet, ok := c.createPet(ctx, client.NewPet{Name: c.uniqueName("Nomad"), CategoryID: 1})
	if !ok {
		return
	}
	var sending sync.WaitGroup
	for i, category := range categories {
		name := c.uniqueName(fmt.Sprint("Nomad in ", i))
		sending.Go(func() {
			c.do(ctx, &operation{eventKey: "rename " + name, noRetry: true}, func(ctx context.Context) (string, error) {
				_, err := c.api.UpdatePet(ctx, pet.ID, client.PetUpdate{Name: &name, CategoryID: &category})
				return fmt.Sprint("pets/", pet.ID), err
			})
		})
		sending.Go(func() { c.removeCategory(ctx, category) })
		guest := client.NewPet{Name: c.uniqueName(fmt.Sprint("Guest in ", i)), CategoryID: category}
		sending.Go(func() {
			c.do(ctx, &operation{eventKey: "add " + guest.Name}, func(ctx context.Context) (string, error) {
				added, err := c.api.CreatePet(ctx, guest, client.IdempotencyKey(guest.Name))
				return fmt.Sprint("pets/", added.ID), err
			})
		})
	}
	sending.Wait()
}

// removeCategory removes a category. It is never retried because a retry might remove a new category with the
// same ID.
func (c *soakClient) removeCategory(ctx context.Context, id int64) {
	subject := fmt.Sprint("categories/", id)
	c.do(ctx, &operation{eventKey: "remove " + subject, noRetry: true}, func(ctx context.Context) (string, error) {
		return subject, c.api.DeleteCategory(ctx, id)
	}, client.CodeCategoryInUse, client.CodeNotFound)
}

func (c *soakClient) changeCategory(ctx context.Context) {
	name := c.uniqueName("kind")
	op := &operation{eventKey: "name " + name}
	switch c.rng.IntN(3) {
	case 0:
		var made client.Category
		if c.do(ctx, op, func(ctx context.Context) (_ string, err error) {
			made, err = c.api.CreateCategory(ctx, name, client.IdempotencyKey(name))
			return fmt.Sprint("categories/", made.ID), err
		}) && c.rng.IntN(2) == 0 {
			c.removeCategory(ctx, made.ID)
		}
	case 1:
		id := int64(1 + c.rng.IntN(5))
		op.noRetry = true // another client may rename the category before a retry
		c.do(ctx, op, func(ctx context.Context) (string, error) {
			_, _, err := c.api.PutCategory(ctx, id, name)
			return fmt.Sprint("categories/", id), err
		})
	default:
		c.removeCategory(ctx, int64(100+c.rng.IntN(4)))
	}
}

// sendInvalid sends a request that must be refused without affecting other requests in the same transaction.
func (c *soakClient) sendInvalid(ctx context.Context) {
	name := c.uniqueName("Nobody")
	op := &operation{eventKey: "add " + name}
	create := func(n client.NewPet, key string) attempt {
		return func(ctx context.Context) (string, error) {
			_, err := c.api.CreatePet(ctx, n, client.IdempotencyKey(key))
			return "", err
		}
	}
	change := func(id int64, conditions ...client.Condition) attempt {
		return func(ctx context.Context) (string, error) {
			_, err := c.api.UpdatePet(ctx, id, client.PetUpdate{Name: &name}, conditions...)
			return "", err
		}
	}
	accepted := false
	switch kind := c.rng.IntN(5); {
	case kind == 0 && len(c.created) > 0:
		used := c.created[c.rng.IntN(len(c.created))]
		accepted = c.do(ctx, op, create(client.NewPet{Name: name}, used.key), client.CodeIdempotencyKeyReused)
	case kind == 1 && len(c.ownPets) > 0:
		op.eventKey = "rename " + name
		accepted = c.do(ctx, op, change(c.ownPets[c.rng.IntN(len(c.ownPets))].ID, client.IfMatch(`"stale"`)), client.CodePreconditionFailed)
	case kind == 2:
		op.eventKey = "rename " + name
		accepted = c.do(ctx, op, change(math.MaxInt64), client.CodeNotFound)
	case kind == 3:
		op.eventKey = "place " + name
		accepted = c.do(ctx, op, func(ctx context.Context) (string, error) {
			_, err := c.api.PlaceOrder(ctx, client.NewOrder{PetID: math.MaxInt64, Reference: name})
			return "", err
		}, client.CodePetNotFound)
	default:
		accepted = c.do(ctx, op, create(client.NewPet{Name: name, Status: "mislaid"}, name), client.CodeValidationFailed)
	}
	if accepted {
		c.s.problem("%q is invalid, but was not refused", op.eventKey)
	}
}

// replayCreate repeats an acknowledged request with the same idempotency key and expects the same animal. The
// process that handled the original request may no longer exist.
func (c *soakClient) replayCreate(ctx context.Context) {
	if len(c.created) == 0 {
		return
	}
	p := c.created[c.rng.IntN(len(c.created))]
	again, err := c.api.CreatePet(context.WithoutCancel(ctx), p.pet, client.IdempotencyKey(p.key))
	e, responded := errors.AsType[*client.Error](err)
	switch {
	case err == nil && again.ID != p.id,
		responded && e.Status != http.StatusServiceUnavailable && e.Code != client.CodeIdempotencyKeyInUse:
		c.s.problem("replay of %+v: got %+v, %v, want animal %d", p.pet, again, err, p.id)
	case err == nil:
		c.s.replays.Add(1)
	default:
		c.backOff(ctx)
	}
}

// read sends a random GET request. The client's own animals and orders must be in the state that was last
// acknowledged.
func (c *soakClient) read(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	var err error
	mayBeUnavailable := c.s.databaseFails
	switch kind := c.rng.IntN(7); {
	case kind < 2 && len(c.ownPets) > 0:
		want := c.ownPets[c.rng.IntN(len(c.ownPets))]
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
		want := c.orders[c.rng.IntN(len(c.orders))]
		var got client.Order
		got, err = c.api.GetOrder(ctx, want.ID)
		if err == nil && got.Status != want.Status && !(want.Status == client.OrderPlaced && got.Status == client.OrderExpired) {
			c.s.problem("read %+v, want %+v as acknowledged", got, want)
		}
	case kind == 3:
		_, err = c.api.Inventory(ctx)
	case kind == 4:
		_, _, err = c.api.ListOrders(ctx, client.OrderQuery{Limit: 10})
	case kind == 5:
		_, err = c.api.LastEventID(ctx) // opens and closes a stream
		mayBeUnavailable = true         // a node that is stopping refuses new streams
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
	case responded && !(mayBeUnavailable && e.Status == http.StatusServiceUnavailable):
		c.s.problem("read: got %v, want success", err)
	default:
		c.backOff(ctx)
	}
}
