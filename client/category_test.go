package client_test

import (
	"math"
	"slices"
	"testing"

	"animalstore/client"
)

func TestCategoryLifecycle(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	dogs := must(c.CreateCategory(ctx, "Dogs & Co"))(t)
	if dogs.ID == 0 || dogs.Name != "Dogs & Co" {
		t.Fatalf("created %+v", dogs)
	}
	if got := must(c.GetCategory(ctx, dogs.ID))(t); got != dogs {
		t.Errorf("got %+v, want %+v", got, dogs)
	}
	for _, want := range []bool{true, false, false} {
		cats, created, err := c.PutCategory(ctx, math.MinInt64, "Cats")
		if err != nil || created != want || cats != (client.Category{ID: math.MinInt64, Name: "Cats"}) {
			t.Errorf("put %+v, %v, %v", cats, created, err)
		}
	}
	must(c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: math.MaxInt64}))(t)
	var all []client.Category
	for category, err := range c.Categories(ctx) {
		all = append(all, must(category, err)(t))
	}
	want := []client.Category{{ID: math.MinInt64, Name: "Cats"}, dogs, {ID: math.MaxInt64}}
	if !slices.Equal(all, want) {
		t.Errorf("got %+v, want %+v", all, want)
	}
	wantCode(t, c.DeleteCategory(ctx, math.MaxInt64), client.CodeCategoryInUse)
	if err := c.DeleteCategory(ctx, dogs.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.DeleteCategory(ctx, dogs.ID), client.CodeNotFound)
	_, err := c.GetCategory(ctx, dogs.ID)
	wantCode(t, err, client.CodeNotFound)
	_, _, err = c.PutCategory(ctx, 1, " ")
	wantCode(t, err, client.CodeValidationFailed)
}

func TestCategoriesSpanPages(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client()
	var want, got []int64
	for id := range int64(103) {
		must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: id}))(t)
		want = append(want, id)
	}
	for category, err := range c.Categories(t.Context()) {
		got = append(got, must(category, err)(t).ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUnknownCategoryIsRefused(t *testing.T) {
	t.Parallel()
	s := newTestService(t, func(set *serviceOptions) { set.KnownCategories = true })
	_, err := s.client().CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1})
	wantCode(t, err, client.CodeValidationFailed)
}
