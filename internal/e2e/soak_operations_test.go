package e2e

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

// order tries to get an animal that others want, too.
func (v *visitor) order(ctx context.Context) {
	id, ok := v.s.wanted(v.dice)
	if !ok {
		return
	}
	reference := v.name("order")
	var order client.Order
	ok = v.try(ctx, &deed{mark: "place " + reference}, func(ctx context.Context) (subject string, err error) {
		order, err = v.c.PlaceOrder(ctx, client.NewOrder{PetID: id, Reference: reference}, client.IdempotencyKey(reference))
		return fmt.Sprint("store/orders/", order.ID), err
	}, client.CodePetNotAvailable, client.CodePetNotFound)
	if ok {
		v.orders = append(v.orders, order)
	}
}

// advance takes one of the visitor's orders a step further. Its hold may have run out by then.
func (v *visitor) advance(ctx context.Context) {
	if len(v.orders) == 0 {
		return
	}
	i := v.dice.IntN(len(v.orders))
	order := v.orders[i]
	v.orders = slices.Delete(v.orders, i, i+1)
	act, what := v.c.CancelOrder, client.EventOrderCancelled
	if v.dice.IntN(4) > 0 {
		act, what = v.c.ApproveOrder, client.EventOrderApproved
		if order.Status == client.OrderApproved {
			act, what = v.c.DeliverOrder, client.EventOrderDelivered
		}
	}
	subject := fmt.Sprint("store/orders/", order.ID)
	ok := v.try(ctx, &deed{mark: string(what) + " " + subject}, func(ctx context.Context) (string, error) {
		after, err := act(ctx, order.ID)
		order.Status = after.Status
		return subject, err
	}, client.CodeInvalidTransition)
	if ok && order.Status == client.OrderApproved {
		v.orders = append(v.orders, order)
	}
}

// fleeting is an animal that comes and goes, and its category with it, while others bring theirs into the same one.
func (v *visitor) fleeting(ctx context.Context) {
	category := int64(100 + v.dice.IntN(4))
	pet, ok := v.bring(ctx, client.NewPet{Name: v.name("Moth"), CategoryID: category})
	if ok && v.removePet(ctx, pet.ID) {
		v.removeCategory(ctx, category)
	}
}

// wander takes an animal through two categories that it brings into being, while both are removed and others come to them, all at
// once: what one member of a transaction has learnt of a category may be wrong for the next.
func (v *visitor) wander(ctx context.Context) {
	categories := [2]int64{int64(10_000_000 + 1_000_000*v.id + 2*v.n), int64(10_000_001 + 1_000_000*v.id + 2*v.n)}
	pet, ok := v.bring(ctx, client.NewPet{Name: v.name("Nomad"), CategoryID: 1})
	if !ok {
		return
	}
	var wandering sync.WaitGroup
	for i, category := range categories {
		name := v.name(fmt.Sprint("Nomad in ", i))
		wandering.Go(func() {
			v.try(ctx, &deed{mark: "rename " + name, once: true}, func(ctx context.Context) (string, error) {
				_, err := v.c.UpdatePet(ctx, pet.ID, client.PetUpdate{Name: &name, CategoryID: &category})
				return fmt.Sprint("pets/", pet.ID), err
			})
		})
		wandering.Go(func() { v.removeCategory(ctx, category) })
		guest := client.NewPet{Name: v.name(fmt.Sprint("Guest in ", i)), CategoryID: category}
		wandering.Go(func() {
			v.try(ctx, &deed{mark: "add " + guest.Name}, func(ctx context.Context) (string, error) {
				added, err := v.c.CreatePet(ctx, guest, client.IdempotencyKey(guest.Name))
				return fmt.Sprint("pets/", added.ID), err
			})
		})
	}
	wandering.Wait()
}

// removeCategory is never asked for twice: a second time, it might find another one under the same id.
func (v *visitor) removeCategory(ctx context.Context, id int64) {
	subject := fmt.Sprint("categories/", id)
	v.try(ctx, &deed{mark: "remove " + subject, once: true}, func(ctx context.Context) (string, error) {
		return subject, v.c.DeleteCategory(ctx, id)
	}, client.CodeCategoryInUse, client.CodeNotFound)
}

func (v *visitor) category(ctx context.Context) {
	name := v.name("kind")
	d := &deed{mark: "name " + name}
	switch v.dice.IntN(3) {
	case 0:
		var made client.Category
		if v.try(ctx, d, func(ctx context.Context) (_ string, err error) {
			made, err = v.c.CreateCategory(ctx, name, client.IdempotencyKey(name))
			return fmt.Sprint("categories/", made.ID), err
		}) && v.dice.IntN(2) == 0 {
			v.removeCategory(ctx, made.ID)
		}
	case 1:
		id := int64(1 + v.dice.IntN(5))
		d.once = true // somebody else may have named it meanwhile
		v.try(ctx, d, func(ctx context.Context) (string, error) {
			_, _, err := v.c.PutCategory(ctx, id, name)
			return fmt.Sprint("categories/", id), err
		})
	default:
		v.removeCategory(ctx, int64(100+v.dice.IntN(4)))
	}
}

// mistake asks for what cannot be: it is refused, and its neighbours in the same transaction are not.
func (v *visitor) mistake(ctx context.Context) {
	name := v.name("Nobody")
	d := &deed{mark: "add " + name}
	create := func(n client.NewPet, key string) act {
		return func(ctx context.Context) (string, error) {
			_, err := v.c.CreatePet(ctx, n, client.IdempotencyKey(key))
			return "", err
		}
	}
	change := func(id int64, conditions ...client.Condition) act {
		return func(ctx context.Context) (string, error) {
			_, err := v.c.UpdatePet(ctx, id, client.PetUpdate{Name: &name}, conditions...)
			return "", err
		}
	}
	wrong := false
	switch dice := v.dice.IntN(5); {
	case dice == 0 && len(v.posted) > 0:
		used := v.posted[v.dice.IntN(len(v.posted))]
		wrong = v.try(ctx, d, create(client.NewPet{Name: name}, used.key), client.CodeIdempotencyKeyReused)
	case dice == 1 && len(v.own) > 0:
		d.mark = "rename " + name
		wrong = v.try(ctx, d, change(v.own[v.dice.IntN(len(v.own))].ID, client.IfMatch(`"stale"`)), client.CodePreconditionFailed)
	case dice == 2:
		d.mark = "rename " + name
		wrong = v.try(ctx, d, change(math.MaxInt64), client.CodeNotFound)
	case dice == 3:
		d.mark = "place " + name
		wrong = v.try(ctx, d, func(ctx context.Context) (string, error) {
			_, err := v.c.PlaceOrder(ctx, client.NewOrder{PetID: math.MaxInt64, Reference: name})
			return "", err
		}, client.CodePetNotFound)
	default:
		wrong = v.try(ctx, d, create(client.NewPet{Name: name, Status: "mislaid"}, name), client.CodeValidationFailed)
	}
	if wrong {
		v.s.problem("%q was not refused", d.mark)
	}
}

// repeat sends again what was answered before, perhaps by a process that is long gone.
func (v *visitor) repeat(ctx context.Context) {
	if len(v.posted) == 0 {
		return
	}
	p := v.posted[v.dice.IntN(len(v.posted))]
	again, err := v.c.CreatePet(context.WithoutCancel(ctx), p.pet, client.IdempotencyKey(p.key))
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case err == nil && again.ID != p.id,
		answered && e.Status != http.StatusServiceUnavailable && e.Code != client.CodeIdempotencyKeyInUse:
		v.s.problem("%+v was answered with %d, and then with %+v, %v", p.pet, p.id, again, err)
	case err == nil:
		v.s.repeats.Add(1)
	default:
		v.rest(ctx)
	}
}

// look reads this and that. What is the visitor's own must be as it knows it.
func (v *visitor) look(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	var err error
	mayWait := v.s.busy
	switch dice := v.dice.IntN(7); {
	case dice < 2 && len(v.own) > 0:
		want := v.own[v.dice.IntN(len(v.own))]
		var got client.Pet
		got, err = v.c.GetPet(ctx, want.ID)
		got.ETag, want.ETag = "", ""
		if want.forSale {
			got.Status = want.Status
		}
		if err == nil && got != want.Pet {
			v.s.problem("%+v was acknowledged; read: %+v", want.Pet, got)
		}
	case dice == 2 && len(v.orders) > 0:
		want := v.orders[v.dice.IntN(len(v.orders))]
		var got client.Order
		got, err = v.c.GetOrder(ctx, want.ID)
		if err == nil && got.Status != want.Status && !(want.Status == client.OrderPlaced && got.Status == client.OrderExpired) {
			v.s.problem("%+v was acknowledged; read: %+v", want, got)
		}
	case dice == 3:
		_, err = v.c.Inventory(ctx)
	case dice == 4:
		_, _, err = v.c.ListOrders(ctx, client.OrderQuery{Limit: 10})
	case dice == 5:
		_, err = v.c.LastEventID(ctx) // which begins a stream, and ends it
		mayWait = true                // a node that is about to stop begins none
	default:
		var list []client.Pet
		list, _, err = v.c.ListPets(ctx, client.PetQuery{Status: client.PetAvailable, Text: fmt.Sprint("rex 🐢 ", v.id), Limit: 10})
		if slices.ContainsFunc(list, func(p client.Pet) bool { return p.Status != client.PetAvailable }) {
			v.s.problem("the available animals are %+v", list)
		}
	}
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		v.s.looks.Add(1)
	case answered && !(mayWait && e.Status == http.StatusServiceUnavailable): // whatever is the matter with the disk
		v.s.problem("a read got %v", err)
	default:
		v.rest(ctx)
	}
}
