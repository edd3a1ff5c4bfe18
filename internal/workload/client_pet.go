package workload

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"animalstore/client"
)

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
	c.ownPets = append(c.ownPets, ownPet{Pet: pet, forSale: sells})
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
	// Without If-Match, a delayed first attempt could undo a later change, so the operation must not be retried. With
	// If-Match, a delayed attempt fails instead. If the animal is for sale, however, an order may change it between
	// two attempts. A failed retry would then not show whether the first attempt had succeeded, so the operation must
	// not be retried either.
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

// removePet removes an animal and then its category. Other clients may be adding animals to this category at the same
// time. The removal of a category is never retried, because a retry might remove a new category with the same ID.
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

// changeCategory creates a category or renames one. A rename is never retried, because another client may rename the
// category before the retry.
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
