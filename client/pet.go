package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// PetStatus says whether an animal can be ordered. It is empty if no status was ever set.
type PetStatus string

const (
	PetAvailable PetStatus = "available"
	PetPending   PetStatus = "pending" // reserved by an order or by staff
	PetSold      PetStatus = "sold"
)

// Pet is an individual animal in the catalogue.
type Pet struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status,omitempty"`
	// ETag identifies the current state of the animal for use with [IfMatch]. It is empty in lists.
	ETag string `json:"-"`
}

// NewPet describes an animal to create.
type NewPet struct {
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status,omitempty"`
}

// PetUpdate describes a change to an animal. Fields that are nil stay unchanged.
type PetUpdate struct {
	Name       *string    `json:"name,omitempty"`
	CategoryID *int64     `json:"categoryId,omitempty"`
	Status     *PetStatus `json:"status,omitempty"`
}

// PetQuery selects the animals to list. Fields with their zero value are ignored.
type PetQuery struct {
	Status     PetStatus
	CategoryID *int64  // a pointer, because 0 is a valid category id
	Text       string  // words that the name must contain, in any order; case and diacritics are ignored
	IDs        []int64 // at most 100 ids
	Limit      int     // the number of animals per page, 1 to 100
	Cursor     string  // the value of next returned by ListPets; empty for the first page
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

// ListPets returns one page of animals, newest first. The default page size is 20. To get the next page, set Cursor
// to the returned value of next, which is empty on the last page. If the query has a Text, a page may have fewer
// animals than the limit, or none, even if another page follows. [Client.Pets] iterates over all pages.
func (c *Client) ListPets(ctx context.Context, q PetQuery) (pets []Pet, next string, err error) {
	return fetchPage[Pet](ctx, c, "/pets", byCursor, q.values())
}

// Pets iterates over all animals that match a query, newest first. The first error is yielded and ends the
// iteration. An animal that does not change during the iteration is yielded exactly once, even if other
// animals change.
func (c *Client) Pets(ctx context.Context, q PetQuery) iter.Seq2[Pet, error] {
	return all[Pet](ctx, c, "/pets", byCursor, q.values())
}

// GetPet returns the animal with this id and its ETag. It fails with [CodeNotFound] if there is none.
func (c *Client) GetPet(ctx context.Context, id int64) (Pet, error) {
	var pets []Pet
	// GET /pets/{petId} is deprecated. A list request for a single id also returns the animal's own ETag.
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

// CreatePet creates an animal and returns it with its new id. If the category does not exist, it is created
// as well, unless the service is configured to accept only known categories.
func (c *Client) CreatePet(ctx context.Context, n NewPet, options ...PostOption) (pet Pet, err error) {
	got, err := c.post(ctx, "/pets", n, options, &pet)
	return withETag(pet, got), err
}

// UpdatePet changes an animal and returns its new state. It fails with [CodeNotFound] if the animal does not
// exist and with [CodeInvalidTransition] if the current status does not allow the new one. While an order
// holds the animal, changing the status fails with [CodePetHasOpenOrder]. If a condition is not met,
// UpdatePet fails with [CodePreconditionFailed].
func (c *Client) UpdatePet(ctx context.Context, id int64, u PetUpdate, conditions ...Condition) (pet Pet, err error) {
	r := request{method: http.MethodPatch, path: pathOf("/pets", id), body: u}
	got, err := c.do(ctx, r.withConditions(conditions), &pet)
	return withETag(pet, got), err
}

// DeletePet deletes an animal. It fails with [CodeNotFound] if the animal does not exist, with
// [CodePetHasOpenOrder] while an order holds the animal, and with [CodePreconditionFailed] if a condition is
// not met.
func (c *Client) DeletePet(ctx context.Context, id int64, conditions ...Condition) error {
	r := request{method: http.MethodDelete, path: pathOf("/pets", id)}
	_, err := c.do(ctx, r.withConditions(conditions), nil)
	return err
}

// RestorePet brings a deleted animal back under its id, as it was when it was deleted. It fails with [CodeNotFound]
// if the animal never existed or the events about it have expired, and with [CodePetExists] if the animal was not
// deleted. If the animal's category has been deleted, RestorePet creates it again. If the service is configured to
// accept only known categories, RestorePet fails with [CodeUnknownCategory] instead.
func (c *Client) RestorePet(ctx context.Context, id int64, options ...PostOption) (pet Pet, err error) {
	got, err := c.post(ctx, pathOf("/pets", id)+"/restore", nil, options, &pet)
	return withETag(pet, got), err
}

func withETag(pet Pet, got apiResponse) Pet {
	pet.ETag = got.header.Get("ETag")
	return pet
}
