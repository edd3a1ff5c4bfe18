package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// The number of texts that wait for the search index is bounded: imports are refused, and all other writes index their own
// texts. Every search compares all texts that wait.
var backlogCases = []testCase{
	{name: "an import waits for the search index", run: func(t *testing.T, store shop.Store) {
		service := openService(t, store)
		addWaiting(t, store, shop.MaxWaitingTexts-1)
		rows := []shop.ImportRow{{Line: 1, NewPet: shop.NewPet{Name: "Bella", CategoryID: 1}}}
		importOnce := func(options shop.ImportOptions) error {
			_, err := service.ImportPets(t.Context(), shop.Caller{}, rows, options)
			return err
		}
		if err := importOnce(shop.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		if e := shop.AsError(importOnce(shop.ImportOptions{})); e.Code != shop.Unavailable || e.RetryAfter < time.Second {
			t.Errorf("got %v, try again in %v", e, e.RetryAfter)
		}
		if err := importOnce(shop.ImportOptions{DryRun: true}); err != nil {
			t.Errorf("a dry run: %v", err)
		}
		if found := listPets(t, store, queryPets("bella")); len(found) != 1 {
			t.Errorf("%d animals were imported", len(found))
		}
		indexSearch(t, store)
		if err := importOnce(shop.ImportOptions{}); err != nil {
			t.Errorf("after the index has caught up: %v", err)
		}
	}},

	{name: "writes index their own texts while too many wait", run: func(t *testing.T, store shop.Store) {
		service, ctx, by := openService(t, store), t.Context(), shop.Caller{}
		old := addPet(t, store, shop.NewPet{Name: "Luna", CategoryID: 1})
		indexSearch(t, store)
		addWaiting(t, store, shop.MaxWaitingTexts+1) // one of them is indexed below
		count := func() int64 { return get(t, store, shop.ReadTx.CountUnindexed) }
		before := count()
		pets := []shop.Pet{}
		for n := range 4 {
			pet, err := service.CreatePet(ctx, by, shop.NewPet{Name: fmt.Sprint("Bella ", n), CategoryID: 1, Status: shop.Available})
			if err != nil {
				t.Fatal(err)
			}
			pets = append(pets, pet)
		}
		_, renameErr := service.UpdatePet(ctx, by, pets[0].ID, shop.PetChange{Name: new("Rex")}, nil)
		_, waitingErr := service.UpdatePet(ctx, by, old.ID+1, shop.PetChange{Name: new("Bella 4")}, nil) // it waits, too
		_, orderErr := service.PlaceOrder(ctx, by, shop.NewOrder{PetID: pets[1].ID, Reference: "Basket"})
		deleteErr := service.DeletePet(ctx, by, pets[2].ID, nil)
		_, restoreErr := service.RestorePet(ctx, by, pets[2].ID)
		for _, err := range []error{renameErr, waitingErr, orderErr, deleteErr, restoreErr, service.DeletePet(ctx, by, pets[3].ID, nil)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if after := count(); after > before {
			t.Errorf("%d texts wait, %d before", after, before)
		}
		// This does not depend on when the texts that still wait are indexed.
		for _, indexed := range []bool{false, true} {
			for query, want := range map[string][]int64{
				"bella": {pets[2].ID, pets[1].ID, old.ID + 1}, "rex": {pets[0].ID}, "luna": {old.ID}, "waiting": nil,
			} {
				list := queryPets(query)
				list.Limit = 10
				page := get(t, store, func(tx shop.ReadTx) (shop.Page[shop.Pet], error) { return tx.SearchPets(list) })
				got := []int64{}
				for _, pet := range page.Items {
					got = append(got, pet.ID)
				}
				if want != nil && (!slices.Equal(got, want) || page.More) || want == nil && len(got) != list.Limit {
					t.Errorf("%q finds %v on the first page, want %v; indexed: %v", query, got, want, indexed)
				}
			}
			orders := get(t, store, func(tx shop.ReadTx) (shop.Page[shop.Order], error) {
				return tx.SearchOrders(shop.OrderList{Query: "basket", PageRequest: shop.PageRequest{Limit: 10}})
			})
			if len(orders.Items) != 1 {
				t.Errorf("found %d orders; indexed: %v", len(orders.Items), indexed)
			}
			indexSearch(t, store)
		}
	}},

	// A search may remember what an earlier one has read.
	{name: "searches find each name of an animal while many wait", run: func(t *testing.T, store shop.Store) {
		service, ctx, by := openService(t, store), t.Context(), shop.Caller{}
		addWaiting(t, store, 3000)
		pet := addPet(t, store, shop.NewPet{Name: "Rex 0", CategoryID: 1})
		want := func(query string, n int) {
			t.Helper()
			list := queryPets(query)
			list.Limit = 10
			if found := searchPets(t, store, list); len(found) != n {
				t.Errorf("%q finds %d animals, want %d", query, len(found), n)
			}
		}
		want("rex 0", 1)
		for n := range 20 {
			name := fmt.Sprint("Rex ", 100+n)
			if _, err := service.UpdatePet(ctx, by, pet.ID, shop.PetChange{Name: &name}, nil); err != nil {
				t.Fatal(err)
			}
			want(name, 1)
			want(fmt.Sprint("rex ", 99+n), 0)
		}
		if err := service.DeletePet(ctx, by, pet.ID, nil); err != nil {
			t.Fatal(err)
		}
		want("rex", 0)
		if _, err := service.RestorePet(ctx, by, pet.ID); err != nil {
			t.Fatal(err)
		}
		want("rex 119", 1)
		want("waiting 2999", 1)
	}},
}

func openService(t *testing.T, store shop.Store) *shop.Service {
	t.Helper()
	service, err := shop.Open(t.Context(), store, shop.Options{Environment: shop.Production})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// addWaiting adds animals whose names wait for the search index.
func addWaiting(t *testing.T, store shop.Store, n int) {
	t.Helper()
	list := make([]shop.NewPet, n)
	for i := range list {
		list[i] = shop.NewPet{Name: fmt.Sprint("Waiting ", i), CategoryID: 1}
	}
	write(t, store, func(tx shop.WriteTx) error {
		if _, err := tx.EnsureCategories(1); err != nil {
			return err
		}
		_, err := tx.InsertPets(list...)
		return err
	})
}
