package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"animalstore/internal/shop"
)

var errOnPurpose = errors.New("on purpose")

var transactionCases = []testCase{
	{"a store that works is ready, whatever callers did wrong", func(t *testing.T, store shop.Store) {
		for range 2 {
			if err := store.Ready(t.Context()); err != nil {
				t.Error(err)
			}
			store.Write(t.Context(), func(shop.WriteTx) error { return errOnPurpose })
		}
	}},

	{"a failed write leaves nothing", func(t *testing.T, store shop.Store) {
		err := store.Write(t.Context(), func(tx shop.WriteTx) error {
			if _, err := insert(tx, shop.NewPet{Name: "Ghost", CategoryID: 1}); err != nil {
				return err
			}
			return errOnPurpose
		})
		if !errors.Is(err, errOnPurpose) {
			t.Errorf("got the error %v, want the closure's own", err)
		}
		if pets := list(t, store, shop.PetList{}); len(pets) != 0 {
			t.Errorf("found %v after a write that failed", pets)
		}
	}},

	{"a panic leaves nothing and reaches the caller", func(t *testing.T, store shop.Store) {
		func() {
			defer func() {
				if p := recover(); p == nil {
					t.Error("the panic got lost")
				}
			}()
			store.Write(t.Context(), func(tx shop.WriteTx) error {
				if _, err := insert(tx, shop.NewPet{Name: "Ghost", CategoryID: 1}); err != nil {
					return err
				}
				panic("on purpose")
			})
		}()
		add(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		if pets := list(t, store, shop.PetList{}); len(pets) != 1 || pets[0].Name != "Rex" {
			t.Errorf("found %v, want Rex alone", pets)
		}
	}},

	{"a panic in a read leaves the store usable", func(t *testing.T, store shop.Store) {
		for range 100 { // more than any pool of readers
			func() {
				defer func() { recover() }()
				store.Read(t.Context(), func(tx shop.ReadTx) error { panic("on purpose") })
			}()
		}
		list(t, store, shop.PetList{})
	}},

	{"a statement that fails spoils the transaction", func(t *testing.T, store shop.Store) {
		err := store.Write(t.Context(), func(tx shop.WriteTx) error {
			if _, err := tx.InsertPet(shop.NewPet{Name: "Orphan", CategoryID: 404}); err == nil {
				t.Error("an animal of no category was taken")
			}
			if _, err := insert(tx, shop.NewPet{Name: "Later", CategoryID: 1}); err == nil {
				t.Error("the transaction went on after a statement failed")
			}
			return nil // a closure that forgets about it must not succeed either
		})
		if err == nil {
			t.Error("the write succeeded although a statement in it failed")
		}
		if pets := list(t, store, shop.PetList{}); len(pets) != 0 {
			t.Errorf("found %v after a write that failed", pets)
		}
	}},

	{"a write sees what it wrote and others do not", func(t *testing.T, store shop.Store) {
		write(t, store, func(tx shop.WriteTx) error {
			pet, err := insert(tx, shop.NewPet{Name: "Rex", CategoryID: 1})
			if err != nil {
				return err
			}
			if _, found, err := tx.Pet(pet.ID); err != nil || !found {
				t.Errorf("the write does not see its own animal: %v", err)
			}
			if pets := list(t, store, shop.PetList{}); len(pets) != 0 {
				t.Errorf("a read beside it sees %v before the commit", pets)
			}
			return nil
		})
	}},

	{"a read stays with one state", func(t *testing.T, store shop.Store) {
		read(t, store, func(tx shop.ReadTx) error {
			if _, err := tx.HasPets(); err != nil { // the state is taken at the first look
				return err
			}
			add(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
			if has, err := tx.HasPets(); err != nil || has {
				t.Errorf("the read saw an animal that came in later (%v)", err)
			}
			return nil
		})
	}},

	{"a caller who has gone writes nothing", func(t *testing.T, store shop.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := store.Write(ctx, func(tx shop.WriteTx) error {
			_, err := insert(tx, shop.NewPet{Name: "Ghost", CategoryID: 1})
			return err
		})
		if code := shop.AsError(err).Code; err == nil || code != shop.Unavailable {
			t.Errorf("got %v, want unavailable", err)
		}
		if pets := list(t, store, shop.PetList{}); len(pets) != 0 {
			t.Errorf("found %v", pets)
		}
	}},

	{"a caller who goes while it writes undoes nobody", func(t *testing.T, store shop.Store) {
		var wg sync.WaitGroup
		var refused atomic.Int64 // of those who have gone: their writes need not be begun again
		for i := range 200 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				err := store.Write(ctx, func(tx shop.WriteTx) error {
					if i%2 == 1 {
						cancel()
					}
					_, err := insert(tx, shop.NewPet{Name: fmt.Sprint(i), CategoryID: int64(i)})
					return err
				})
				cancel()
				switch {
				case err != nil && i%2 == 1 && shop.AsError(err).Code == shop.Unavailable:
					refused.Add(1)
				case err != nil:
					t.Errorf("write %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if pets, want := list(t, store, shop.PetList{}), 200-int(refused.Load()); len(pets) != want {
			t.Errorf("found %d animals, want %d", len(pets), want)
		}
	}},

	{"writers do not disturb each other", func(t *testing.T, store shop.Store) {
		const writers, each = 16, 40
		var mu sync.Mutex
		kept := map[int64]string{}
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					name := fmt.Sprintf("%d/%d", w, i)
					var pet shop.Pet
					err := store.Write(t.Context(), func(tx shop.WriteTx) (err error) {
						if pet, err = insert(tx, shop.NewPet{Name: name, CategoryID: int64(w)}); err != nil {
							return err
						}
						if i%3 == 0 {
							return errOnPurpose
						}
						return nil
					})
					if i%3 == 0 {
						if !errors.Is(err, errOnPurpose) {
							t.Errorf("%s: got %v, want the closure's own error", name, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					mu.Lock()
					if other, taken := kept[pet.ID]; taken {
						t.Errorf("%s and %s have both the id %d", name, other, pet.ID)
					}
					kept[pet.ID] = name
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		pets := list(t, store, shop.PetList{})
		if len(pets) != len(kept) {
			t.Errorf("found %d animals, want the %d that were written", len(pets), len(kept))
		}
		for _, pet := range pets {
			if kept[pet.ID] != pet.Name {
				t.Errorf("animal %d is %q, want %q", pet.ID, pet.Name, kept[pet.ID])
			}
		}
	}},

	{"the environment is kept", func(t *testing.T, store shop.Store) {
		environment := func() (e shop.Environment) {
			read(t, store, func(tx shop.ReadTx) (err error) {
				e, err = tx.Environment()
				return err
			})
			return e
		}
		if e := environment(); e != "" {
			t.Errorf("a new store belongs to %q", e)
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Staging) })
		if e := environment(); e != shop.Staging {
			t.Errorf("got %q, want staging", e)
		}
	}},

	{"a demo is marked", func(t *testing.T, store shop.Store) {
		isDemo := func() (demo bool) {
			read(t, store, func(tx shop.ReadTx) (err error) {
				demo, err = tx.Demo()
				return err
			})
			return demo
		}
		if isDemo() {
			t.Error("a new store is a demo")
		}
		for range 2 { // also again
			write(t, store, func(tx shop.WriteTx) error { return tx.SetDemo() })
			if !isDemo() {
				t.Error("the mark was not kept")
			}
		}
	}},
}
