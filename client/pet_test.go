package client_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"animalstore/client"
)

func TestPetLifecycle(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	pet := must(c.CreatePet(ctx, client.NewPet{Name: "Zoë <&> \u2028", CategoryID: 7}))(t)
	if pet.ID == 0 || pet.Name != "Zoë <&> \u2028" || pet.CategoryID != 7 || pet.Status != "" || pet.ETag == "" {
		t.Fatalf("created %+v", pet)
	}
	if got := must(c.GetPet(ctx, pet.ID))(t); got != pet {
		t.Errorf("got %+v, want %+v", got, pet)
	}
	s.requests()
	changed := must(c.UpdatePet(ctx, pet.ID, client.PetUpdate{Status: new(client.PetAvailable)}))(t)
	if sent := s.requests()[0]; sent.method != "PATCH" || sent.body != `{"status":"available"}` {
		t.Errorf("sent %+v", sent)
	}
	want := pet
	want.Status, want.ETag = client.PetAvailable, changed.ETag
	if changed != want || changed.ETag == pet.ETag || changed.ETag == "" {
		t.Errorf("changed to %+v, want %+v", changed, want)
	}
	all := client.PetUpdate{Name: new("Rex"), CategoryID: new(int64(0)), Status: new(client.PetSold)}
	changed = must(c.UpdatePet(ctx, pet.ID, all))(t)
	if changed.Name != "Rex" || changed.CategoryID != 0 || changed.Status != client.PetSold {
		t.Errorf("changed to %+v", changed)
	}
	if same := must(c.UpdatePet(ctx, pet.ID, client.PetUpdate{}))(t); same != changed {
		t.Errorf("an empty change returned %+v, want %+v", same, changed)
	}
	_, err := c.UpdatePet(ctx, pet.ID, client.PetUpdate{Status: new(client.PetPending)})
	wantCode(t, err, client.CodeInvalidTransition)
	if err := c.DeletePet(ctx, pet.ID); err != nil {
		t.Fatal(err)
	}
	_, err = c.GetPet(ctx, pet.ID)
	wantCode(t, err, client.CodeNotFound)
	if e, _ := errors.AsType[*client.Error](err); e.Status != 404 || e.RequestID == "" || e.Message != fmt.Sprintf("There is no animal with the id %d.", pet.ID) {
		t.Errorf("got %+v", e)
	}
	wantCode(t, c.DeletePet(ctx, pet.ID), client.CodeNotFound)
	_, err = c.UpdatePet(ctx, pet.ID, client.PetUpdate{})
	wantCode(t, err, client.CodeNotFound)
}

func TestInvalidPetIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	pet, err := s.client().CreatePet(t.Context(), client.NewPet{Status: "asleep"})
	wantCode(t, err, client.CodeValidationFailed)
	if pet != (client.Pet{}) {
		t.Errorf("got %+v with an error", pet)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("sent %d requests", n)
	}
}

func TestInt64IsExact(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client()
	for _, n := range []int64{math.MinInt64, -1, 0, 1<<53 + 1, math.MaxInt64} {
		pet := must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: n}))(t)
		found, _, err := c.ListPets(t.Context(), client.PetQuery{CategoryID: &n})
		if err != nil || pet.CategoryID != n || len(found) != 1 || found[0].ID != pet.ID || found[0].CategoryID != n {
			t.Errorf("%d was stored as %+v, found as %+v, %v", n, pet, found, err)
		}
		_, err = c.GetPet(t.Context(), math.MaxInt64)
		wantCode(t, err, client.CodeNotFound)
	}
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	pet := s.addPet("Rex")
	changed := must(c.UpdatePet(ctx, pet.ID, client.PetUpdate{Name: new("Max")}, client.IfMatch(pet.ETag)))(t)
	_, err := c.UpdatePet(ctx, pet.ID, client.PetUpdate{Name: new("Bo")}, client.IfMatch(pet.ETag))
	wantCode(t, err, client.CodePreconditionFailed)
	wantCode(t, c.DeletePet(ctx, pet.ID, client.IfMatch(pet.ETag)), client.CodePreconditionFailed)
	if got := must(c.GetPet(ctx, pet.ID))(t); got != changed {
		t.Errorf("got %+v, want %+v", got, changed)
	}
	listed, _, err := c.ListPets(ctx, client.PetQuery{})
	if err != nil || len(listed) != 1 || listed[0].ETag != "" {
		t.Fatalf("listed %+v, %v", listed, err)
	}
	s.requests()
	for _, tag := range []string{listed[0].ETag, "\"a\nb\""} { // both ETags must be rejected, because the deletion would otherwise be unconditional
		if err := c.DeletePet(ctx, pet.ID, client.IfMatch(tag)); err == nil {
			t.Errorf("deleted with the ETag %q", tag)
		}
	}
	if sent := s.requests(); len(sent) != 0 {
		t.Errorf("sent %+v", sent)
	}
	if err := c.DeletePet(ctx, pet.ID, client.IfMatch(changed.ETag)); err != nil {
		t.Error(err)
	}
}

func TestPetQuery(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	var ids []int64
	for i, n := range []client.NewPet{
		{Name: "Rex", CategoryID: 0, Status: client.PetAvailable},
		{Name: "ÉMILE & co", CategoryID: 0, Status: client.PetSold},
		{Name: "émilie", CategoryID: 1, Status: client.PetAvailable},
		{Name: "Mia", CategoryID: 2},
	} {
		pet := must(c.CreatePet(ctx, n))(t)
		ids = append(ids, pet.ID)
		if i > 0 && ids[i] <= ids[i-1] {
			t.Errorf("the ids are %v", ids)
		}
	}
	for _, q := range []struct {
		query client.PetQuery
		want  []int // indexes into ids, newest animal first
	}{
		{client.PetQuery{}, []int{3, 2, 1, 0}},
		{client.PetQuery{Status: client.PetAvailable}, []int{2, 0}},
		{client.PetQuery{CategoryID: new(int64(0))}, []int{1, 0}},
		{client.PetQuery{Text: "Émil"}, []int{2, 1}},
		{client.PetQuery{Text: "& c"}, []int{1}},
		{client.PetQuery{IDs: []int64{ids[0], ids[3], 1 << 60}}, []int{3, 0}},
		{client.PetQuery{IDs: ids, Status: client.PetSold, CategoryID: new(int64(1))}, nil},
	} {
		for _, limit := range []int{0, 1, 100} {
			q.query.Limit = limit
			var want, got []int64
			for _, i := range q.want {
				want = append(want, ids[i])
			}
			for pet, err := range c.Pets(ctx, q.query) {
				got = append(got, must(pet, err)(t).ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v: got %v, want %v", q.query, got, want)
			}
		}
	}
	for _, limit := range []int{-1, 101} {
		_, _, err := c.ListPets(ctx, client.PetQuery{Limit: limit})
		wantCode(t, err, client.CodeInvalidParameter)
	}
	_, _, err := c.ListPets(ctx, client.PetQuery{Cursor: "here"})
	wantCode(t, err, client.CodeInvalidCursor)
}

// GetPet must still work after the deprecated operation has been removed.
func TestGetPetDoesNotNeedTheDeprecatedOperation(t *testing.T) {
	t.Parallel()
	s := newTestService(t, func(set *serviceOptions) {
		set.Today = func() time.Time { return time.Date(2030, 12, 5, 0, 0, 0, 0, time.UTC) }
	})
	pet := s.addPet("Rex")
	if got := must(s.client().GetPet(t.Context(), pet.ID))(t); got != pet {
		t.Errorf("got %+v, want %+v", got, pet)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.inject(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		cancel()
		<-r.Context().Done()
	})
	_, err := s.client().GetPet(ctx, 1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("sent %d requests", n)
	}
}
