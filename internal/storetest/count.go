package storetest

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// countCases test the numbers of animals by status and by category, and the arrivals and sales.
var countCases = []testCase{
	{name: "the largest categories are counted by status", run: func(t *testing.T, store shop.Store) {
		ensureCategory(t, store, 4)
		for _, pet := range []shop.NewPet{
			{Name: "a", CategoryID: 1, Status: shop.Sold}, {Name: "b", CategoryID: 1, Status: shop.Sold}, {Name: "c", CategoryID: 1},
			{Name: "d", CategoryID: math.MinInt64, Status: shop.Available}, {Name: "e", CategoryID: math.MaxInt64, Status: shop.Pending},
		} {
			addPet(t, store, pet)
		}
		first := shop.CategoryCount{CategoryID: 1, Inventory: shop.Inventory{Sold: 2, Unspecified: 1}}
		second := shop.CategoryCount{CategoryID: math.MinInt64, Inventory: shop.Inventory{Available: 1}}
		third := shop.CategoryCount{CategoryID: math.MaxInt64, Inventory: shop.Inventory{Pending: 1}}
		for range 2 {
			read(t, store, func(tx shop.ReadTx) error {
				got, err := tx.LargestCategories(2)
				if diff := diff.Diff([]shop.CategoryCount{first, second}, got); diff != "" || err != nil {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
				got, err = tx.CountCategories([]int64{math.MaxInt64, 4, 1, 5})
				sortCounts(got)
				if diff := diff.Diff([]shop.CategoryCount{first, third}, got); diff != "" || err != nil {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
				none, err := tx.CountCategories(nil)
				if len(none) > 0 {
					t.Errorf("%v", none)
				}
				return err
			})
			foldCounts(t, store)
		}
	}},

	{name: "counts are exact before and after they are folded", run: func(t *testing.T, store shop.Store) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		var pets, removed []shop.Pet
		for id := range int64(6) {
			ensureCategory(t, store, id)
		}
		pick := func(list []shop.Pet) int { return random.IntN(len(list)) }
		for i := range 150 {
			switch n := random.IntN(12); {
			case n < 5 || len(pets) == 0:
				pets = append(pets, addPet(t, store, shop.NewPet{Name: "x", CategoryID: random.Int64N(6), Status: anyStatus(random)}))
			case n < 8:
				at := pick(pets)
				after := pets[at]
				after.CategoryID, after.Status = random.Int64N(6), anyStatus(random)
				write(t, store, func(tx shop.WriteTx) error { return tx.UpdatePets(shop.PetUpdate{Before: pets[at], After: after}) })
				pets[at] = after
			case n < 10:
				at := pick(pets)
				write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(pets[at]) })
				removed, pets = append(removed, pets[at]), slices.Delete(pets, at, at+1)
			case n < 11 && len(removed) > 0:
				at := pick(removed)
				write(t, store, func(tx shop.WriteTx) error { return tx.RestorePet(removed[at]) })
				pets, removed = append(pets, removed[at]), slices.Delete(removed, at, at+1)
			default:
				foldCounts(t, store)
			}
			if read(t, store, func(tx shop.ReadTx) error { return wantCounts(t, tx) }); t.Failed() {
				t.Fatalf("after step %d of the seed %d", i, seed)
			}
		}
	}},

	{name: "counts are exact in every snapshot", run: func(t *testing.T, store shop.Store) {
		service, err := shop.Open(t.Context(), store, shop.Options{Environment: shop.Production})
		if err != nil {
			t.Fatal(err)
		}
		var writers, readers sync.WaitGroup
		done := make(chan struct{})
		for range 3 {
			writers.Go(func() { changeAnimals(t, service) })
		}
		for _, check := range []func() error{
			func() error {
				return store.Read(t.Context(), shop.Reading{}, func(tx shop.ReadTx) error { return wantCounts(t, tx) })
			},
			func() error {
				return store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error { return tx.FoldCounts() })
			},
		} {
			readers.Go(func() {
				for {
					if err := check(); err != nil {
						t.Error(err)
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		writers.Wait()
		close(done)
		readers.Wait()
		read(t, store, func(tx shop.ReadTx) error {
			periods, err := tx.PeriodStats(time.Time{})
			var sum shop.PeriodStats
			for _, period := range periods { // the test may have begun in one period and ended in the next
				sum.Arrivals, sum.Sales = sum.Arrivals+period.Arrivals, sum.Sales+period.Sales
			}
			if want := (shop.PeriodStats{Arrivals: 3 * 15 * 6, Sales: 3 * 15}); sum != want {
				t.Errorf("%d arrivals and %d sales, want %d and %d", sum.Arrivals, sum.Sales, want.Arrivals, want.Sales)
			}
			return errors.Join(err, wantCounts(t, tx))
		})
	}},

	{name: "arrivals and sales are counted per period", clocked: func(t *testing.T, store shop.Store, clock *testClock) {
		first := time.Date(2026, 11, 17, 12, 15, 0, 0, time.UTC)
		at := func(after time.Duration) { clock.set(first.Add(after)) }
		at(0)
		ensureCategory(t, store, 2)
		pet := addPet(t, store, shop.NewPet{Name: "x", CategoryID: 1, Status: shop.Sold}) // not a sale
		set := func(status shop.Status, category int64) {
			after := pet
			after.Status, after.CategoryID = status, category
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdatePets(shop.PetUpdate{Before: pet, After: after}) })
			pet = after
		}
		at(shop.StatsPeriod - time.Microsecond)
		set(shop.Available, 1) // takes no sale back
		set(shop.Sold, 1)
		set(shop.Sold, 2) // not another sale
		at(shop.StatsPeriod)
		set("", 1)
		set(shop.Sold, 2)
		write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(pet) })
		write(t, store, func(tx shop.WriteTx) error { return tx.RestorePet(pet) }) // neither an arrival nor a sale
		if err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			_, err := tx.InsertPets(shop.NewPet{Name: "y", CategoryID: 1})
			return errors.Join(err, errOnPurpose)
		}); !errors.Is(err, errOnPurpose) {
			t.Error(err)
		}
		at(-4 * shop.StatsPeriod) // the clock was set back
		addPet(t, store, shop.NewPet{Name: "z", CategoryID: 3})
		all := []shop.PeriodStats{
			{Begin: first.Add(-4 * shop.StatsPeriod), Arrivals: 1}, {Begin: first, Arrivals: 1, Sales: 1},
			{Begin: first.Add(shop.StatsPeriod), Sales: 1},
		}
		for range 2 {
			for i, since := range []time.Time{first.AddDate(0, -1, 0), first, first.Add(shop.StatsPeriod)} {
				got := get(t, store, func(tx shop.ReadTx) ([]shop.PeriodStats, error) { return tx.PeriodStats(since) })
				if diff := diff.Diff(all[i:], got); diff != "" {
					t.Errorf("since %s (-want +got)\n%s", since, diff)
				}
			}
			foldCounts(t, store)
		}
	}},

	{name: "the newest periods are kept", clocked: func(t *testing.T, store shop.Store, clock *testClock) {
		start := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
		const more = 3
		ensureCategory(t, store, 1)
		write(t, store, func(tx shop.WriteTx) error {
			for n := range shop.KeptPeriods + more {
				clock.set(start.Add(time.Duration(n) * shop.StatsPeriod))
				if _, err := tx.InsertPets(shop.NewPet{Name: "x", CategoryID: 1}); err != nil {
					return err
				}
			}
			return nil
		})
		foldCounts(t, store)
		write(t, store, func(tx shop.WriteTx) error {
			_, err := tx.Maintain(start)
			return err
		})
		kept := get(t, store, func(tx shop.ReadTx) ([]shop.PeriodStats, error) { return tx.PeriodStats(start) })
		if len(kept) != shop.KeptPeriods || !kept[0].Begin.Equal(start.Add(more*shop.StatsPeriod)) {
			t.Errorf("%d periods are kept from %s on", len(kept), kept[0].Begin)
		}
	}},
}

// changeAnimals creates, moves, orders, sells, imports, removes and restores animals, so that each number in the counts
// goes up and down. It adds 15 × 6 animals and sells 15.
func changeAnimals(t *testing.T, service *shop.Service) {
	ctx := t.Context()
	failed := func(err error) bool {
		if err != nil {
			t.Error(err)
		}
		return err != nil
	}
	for n := range int64(15) {
		var pets []shop.Pet
		for i := range int64(4) {
			pet, err := service.CreatePet(ctx, shop.Caller{}, shop.NewPet{Name: "x", CategoryID: (n + i) % 5, Status: shop.Available})
			if failed(err) {
				return
			}
			pets = append(pets, pet)
		}
		order, err := service.PlaceOrder(ctx, shop.Caller{}, shop.NewOrder{PetID: pets[0].ID})
		if failed(err) {
			return
		}
		for _, status := range []shop.OrderStatus{shop.Approved, shop.Delivered} {
			if _, err := service.UpdateOrder(ctx, shop.Caller{}, order.ID, shop.OrderChange{Status: &status}, nil); failed(err) {
				return
			}
		}
		if _, err := service.PlaceOrder(ctx, shop.Caller{}, shop.NewOrder{PetID: pets[0].ID}); err == nil { // it is sold
			t.Error("a sold animal was ordered")
		}
		moved, err := service.UpdatePet(ctx, shop.Caller{}, pets[1].ID, shop.PetChange{CategoryID: new((n + 3) % 5)}, nil)
		if failed(errors.Join(err, service.DeletePet(ctx, shop.Caller{}, pets[2].ID, nil), service.DeletePet(ctx, shop.Caller{}, pets[3].ID, nil))) {
			return
		}
		if _, err := service.RestorePet(ctx, shop.Caller{}, pets[3].ID); failed(err) {
			return
		}
		rows := []shop.ImportRow{
			{Line: 1, NewPet: shop.NewPet{Name: "i", CategoryID: n % 7}}, {Line: 2, NewPet: shop.NewPet{Name: "j", CategoryID: 1, Status: shop.Sold}},
			{Line: 3, ID: &moved.ID, ETag: moved.ETag(), NewPet: shop.NewPet{Name: "k", CategoryID: 2, Status: shop.Pending}},
		}
		if _, err := service.ImportPets(ctx, shop.Caller{}, rows, shop.ImportOptions{Upsert: true}); failed(err) {
			return
		}
	}
}

func anyStatus(random *rand.Rand) shop.Status {
	return append(shop.Statuses(), "")[random.IntN(4)]
}

// foldCounts folds all counts.
func foldCounts(t *testing.T, store shop.Store) {
	t.Helper()
	for get(t, store, func(tx shop.ReadTx) (int, error) { return tx.WaitingCounts(1) }) > 0 {
		write(t, store, func(tx shop.WriteTx) error { return tx.FoldCounts() })
	}
}

func sortCounts(counts []shop.CategoryCount) {
	slices.SortFunc(counts, func(a, b shop.CategoryCount) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), cmp.Compare(a.CategoryID, b.CategoryID))
	})
}

// wantCounts checks that the counts match the animals in the same snapshot.
func wantCounts(t *testing.T, tx shop.ReadTx) error {
	pets, err := tx.Pets(shop.PetList{PageRequest: shop.PageRequest{Limit: 10_000}})
	if err != nil {
		return err
	}
	var all shop.Inventory
	byID := map[int64]shop.Inventory{}
	for _, pet := range pets {
		all, byID[pet.CategoryID] = add(all, pet.Status), add(byID[pet.CategoryID], pet.Status)
	}
	var counts []shop.CategoryCount
	for id, inventory := range byID {
		counts = append(counts, shop.CategoryCount{CategoryID: id, Inventory: inventory})
	}
	sortCounts(counts)
	if got, err := tx.Inventory(); got != all || err != nil {
		t.Errorf("the inventory is %+v, want %+v, %v", got, all, err)
	}
	for n := range 8 {
		if got, err := tx.LargestCategories(n); !slices.Equal(got, counts[:min(n, len(counts))]) || err != nil {
			t.Errorf("the %d largest are %v, want %v, %v", n, got, counts, err)
		}
	}
	got, err := tx.CountCategories([]int64{0, 1, 2, 3, 4, 5, 6, 7})
	if sortCounts(got); !slices.Equal(got, counts) {
		t.Errorf("counted %v, want %v", got, counts)
	}
	return err
}
