package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// PetStatus is the availability of an animal; empty: none was ever said.
type PetStatus string

const (
	PetAvailable PetStatus = "available"
	PetPending   PetStatus = "pending" // held by an order, or by hand
	PetSold      PetStatus = "sold"
)

// Pet is an animal.
type Pet struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status,omitempty"`
	// ETag stands for this state of the animal; see [IfMatch]. Lists leave it empty.
	ETag string `json:"-"`
}

// NewPet is an animal that is to be added.
type NewPet struct {
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status,omitempty"`
}

// PetUpdate is what shall be different about an animal; what is nil stays.
type PetUpdate struct {
	Name       *string    `json:"name,omitempty"`
	CategoryID *int64     `json:"categoryId,omitempty"`
	Status     *PetStatus `json:"status,omitempty"`
}

// PetQuery says which animals are listed; what is zero does not narrow the list.
type PetQuery struct {
	Status     PetStatus
	CategoryID *int64  // every number can be a category, also 0
	Text       string  // is part of the name, in whatever letter case
	IDs        []int64 // at most 100
	Limit      int     // the most animals on one page, 1 to 100
	Cursor     string  // where the page starts: what ListPets returned with the one before
}

func (q PetQuery) values() url.Values {
	query := pageQuery(q.Limit, q.Cursor)
	if q.Status != "" {
		query.Set("status", string(q.Status))
	}
	if q.CategoryID != nil {
		query.Set("categoryId", strconv.FormatInt(*q.CategoryID, 10))
	}
	if q.Text != "" {
		query.Set("q", q.Text)
	}
	for _, id := range q.IDs {
		query.Add("id", strconv.FormatInt(id, 10))
	}
	return query
}

// ListPets gets one page of the animals, newest first, of 20 where the query has no limit. The cursor next goes into
// the query for the following page; it is empty after the last one. [Client.Pets] does that by itself.
func (c *Client) ListPets(ctx context.Context, q PetQuery) (pets []Pet, next string, err error) {
	return fetchPage[Pet](ctx, c, "/pets", byCursor, q.values())
}

// Pets walks all the animals that a query asks for, newest first. It ends with the first error. An animal that stays
// unchanged during the walk comes exactly once, whatever happens to the others.
func (c *Client) Pets(ctx context.Context, q PetQuery) iter.Seq2[Pet, error] {
	return all[Pet](ctx, c, "/pets", byCursor, q.values())
}

// GetPet gets one animal, with its ETag, or fails with [CodeNotFound].
func (c *Client) GetPet(ctx context.Context, id int64) (Pet, error) {
	var pets []Pet
	// Not GET /pets/{petId}, which is deprecated. With the id alone in the query, the answer has the animal's own ETag.
	got, err := c.get(ctx, "/pets", PetQuery{IDs: []int64{id}}.values(), &pets)
	if err != nil {
		return Pet{}, err
	}
	if len(pets) == 0 {
		got.status = http.StatusNotFound
		return Pet{}, got.newError(CodeNotFound, fmt.Sprintf("There is no animal with the id %d.", id))
	}
	return withETag(pets[0], got), nil
}

// CreatePet adds an animal and returns it with its id. A category that is not there comes into being with it, unless
// the service is set up to take known ones only.
func (c *Client) CreatePet(ctx context.Context, n NewPet, options ...PostOption) (pet Pet, err error) {
	got, err := c.post(ctx, "/pets", n, options, &pet)
	return withETag(pet, got), err
}

// UpdatePet changes an animal and returns it as it is then. It fails with [CodeNotFound], with [CodeInvalidTransition]
// for a status that cannot follow the present one, with [CodePetHasOpenOrder] for another status while an order holds
// the animal, and with [CodePreconditionFailed] where it does not match.
func (c *Client) UpdatePet(ctx context.Context, id int64, u PetUpdate, conditions ...Condition) (pet Pet, err error) {
	r := request{method: http.MethodPatch, path: pathOf("/pets", id), body: u}
	got, err := c.do(ctx, r.withConditions(conditions), &pet)
	return withETag(pet, got), err
}

// DeletePet removes an animal. It fails with [CodeNotFound], with [CodePetHasOpenOrder] while an order holds the
// animal, and with [CodePreconditionFailed] where it does not match.
func (c *Client) DeletePet(ctx context.Context, id int64, conditions ...Condition) error {
	r := request{method: http.MethodDelete, path: pathOf("/pets", id)}
	_, err := c.do(ctx, r.withConditions(conditions), nil)
	return err
}

func (r request) withConditions(conditions []Condition) request {
	for _, condition := range conditions {
		condition(&r)
	}
	return r
}

func withETag(pet Pet, got apiResponse) Pet {
	pet.ETag = got.header.Get("ETag")
	return pet
}

func pathOf(list string, id int64) string { return list + "/" + strconv.FormatInt(id, 10) }
