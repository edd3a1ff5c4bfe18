package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"animalstore/internal/shop"
)

var errOnPurpose = errors.New("on purpose")

var transactionCases = []testCase{
	{name: "a store stays ready after failed writes", run: func(t *testing.T, store shop.Store) {
		for range 2 {
			if err := store.Ready(t.Context()); err != nil {
				t.Error(err)
			}
			store.Write(t.Context(), shop.Writing{}, func(shop.WriteTx) error { return errOnPurpose })
		}
	}},

	{name: "a panic stores nothing and reaches the caller", run: func(t *testing.T, store shop.Store) {
		func() {
			defer func() {
				if p := recover(); p == nil {
					t.Error("the panic did not reach the caller")
				}
			}()
			store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
				if _, err := insertPet(tx, shop.NewPet{Name: "Ghost", CategoryID: 1}); err != nil {
					return err
				}
				panic("on purpose")
			})
		}()
		addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		if pets := listPets(t, store, shop.PetList{}); len(pets) != 1 || pets[0].Name != "Rex" {
			t.Errorf("found %v, want only Rex", pets)
		}
	}},

	{name: "a panic in a read leaves the store usable", run: func(t *testing.T, store shop.Store) {
		for range 100 { // run more reads than a connection pool has connections
			func() {
				defer func() { recover() }()
				store.Read(t.Context(), shop.Reading{}, func(tx shop.ReadTx) error { panic("on purpose") })
			}()
		}
		listPets(t, store, shop.PetList{})
	}},

	{name: "a failed statement aborts the transaction", run: func(t *testing.T, store shop.Store) {
		err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			if _, err := tx.InsertPets(shop.NewPet{Name: "Orphan", CategoryID: 404}); err == nil {
				t.Error("an animal of a missing category was accepted")
			}
			if _, err := insertPet(tx, shop.NewPet{Name: "Later", CategoryID: 1}); err == nil {
				t.Error("the transaction continued after a failed statement")
			}
			return nil // the transaction must not be committed, even though the error is ignored
		})
		if err == nil {
			t.Error("the write succeeded despite a failed statement")
		}
		if pets := listPets(t, store, shop.PetList{}); len(pets) != 0 {
			t.Errorf("found %v after a failed write", pets)
		}
	}},

	{name: "a write sees its own changes and others do not", run: func(t *testing.T, store shop.Store) {
		write(t, store, func(tx shop.WriteTx) error {
			pet, err := insertPet(tx, shop.NewPet{Name: "Rex", CategoryID: 1})
			if err != nil {
				return err
			}
			if _, found, err := tx.Pet(pet.ID); err != nil || !found {
				t.Errorf("the write does not see its own animal: %v", err)
			}
			if pets := listPets(t, store, shop.PetList{}); len(pets) != 0 {
				t.Errorf("a concurrent read sees %v before the commit", pets)
			}
			return nil
		})
	}},

	{name: "a read sees one snapshot", run: func(t *testing.T, store shop.Store) {
		read(t, store, func(tx shop.ReadTx) error {
			if _, err := tx.HasPets(); err != nil { // the first query takes the snapshot
				return err
			}
			addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
			if has, err := tx.HasPets(); err != nil || has {
				t.Errorf("the read saw an animal that was added later (%v)", err)
			}
			return nil
		})
	}},

	{name: "a write with a cancelled context stores nothing", run: func(t *testing.T, store shop.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := store.Write(ctx, shop.Writing{}, func(tx shop.WriteTx) error {
			_, err := insertPet(tx, shop.NewPet{Name: "Ghost", CategoryID: 1})
			return err
		})
		if code := shop.AsError(err).Code; err == nil || code != shop.Unavailable {
			t.Errorf("got %v, want unavailable", err)
		}
		if pets := listPets(t, store, shop.PetList{}); len(pets) != 0 {
			t.Errorf("found %v", pets)
		}
	}},

	{name: "a cancelled write does not undo others", run: func(t *testing.T, store shop.Store) {
		var wg sync.WaitGroup
		var refused atomic.Int64 // the number of cancelled writes that failed
		for i := range 200 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				err := store.Write(ctx, shop.Writing{}, func(tx shop.WriteTx) error {
					if i%2 == 1 {
						cancel()
					}
					_, err := insertPet(tx, shop.NewPet{Name: fmt.Sprint(i), CategoryID: int64(i)})
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
		if pets, want := listPets(t, store, shop.PetList{}), 200-int(refused.Load()); len(pets) != want {
			t.Errorf("found %d animals, want %d", len(pets), want)
		}
	}},

	{name: "concurrent writes and rollbacks are independent", run: func(t *testing.T, store shop.Store) {
		const writers, each = 16, 40
		var mu sync.Mutex
		committed := map[int64]string{}
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					name := fmt.Sprintf("%d/%d", w, i)
					var pet shop.Pet
					err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) (err error) {
						if pet, err = insertPet(tx, shop.NewPet{Name: name, CategoryID: int64(w)}); err != nil {
							return err
						}
						if i%3 == 0 {
							return errOnPurpose
						}
						return nil
					})
					if i%3 == 0 {
						if !errors.Is(err, errOnPurpose) {
							t.Errorf("%s: got %v, want the closure's error", name, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					mu.Lock()
					if other, taken := committed[pet.ID]; taken {
						t.Errorf("%s and %s both have the id %d", name, other, pet.ID)
					}
					committed[pet.ID] = name
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		pets := listPets(t, store, shop.PetList{})
		if len(pets) != len(committed) {
			t.Errorf("found %d animals, want the %d that were committed", len(pets), len(committed))
		}
		for _, pet := range pets {
			if committed[pet.ID] != pet.Name {
				t.Errorf("animal %d is %q, want %q", pet.ID, pet.Name, committed[pet.ID])
			}
		}
	}},

	{name: "concurrent updates of one row are not lost", run: func(t *testing.T, store shop.Store) {
		const writers, each = 8, 10
		id := addPet(t, store, shop.NewPet{Name: "0", CategoryID: 1}).ID
		var done atomic.Int64
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
						before, _, err := tx.Pet(id)
						if err != nil {
							return err
						}
						n, err := strconv.Atoi(before.Name)
						after := before
						after.Name = strconv.Itoa(n + 1)
						return errors.Join(err, tx.UpdatePets(shop.PetUpdate{Before: before, After: after}))
					})
					if err == nil {
						done.Add(1)
					} else if shop.AsError(err).Code != shop.Unavailable {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if pet := listPets(t, store, shop.PetList{})[0]; pet.Name != strconv.FormatInt(done.Load(), 10) {
			t.Errorf("%d increments succeeded, and the row has %s", done.Load(), pet.Name)
		}
	}},

	{name: "the environment is stored", run: func(t *testing.T, store shop.Store) {
		if e := get(t, store, shop.ReadTx.Environment); e != "" {
			t.Errorf("a new store has the environment %q", e)
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Staging) })
		if e := get(t, store, shop.ReadTx.Environment); e != shop.Staging {
			t.Errorf("got %q, want staging", e)
		}
	}},

	{name: "the settings are stored", run: func(t *testing.T, store shop.Store) {
		if got := get(t, store, shop.ReadTx.Settings); !reflect.DeepEqual(got, shop.DefaultSettings()) {
			t.Errorf("a new store has the settings %+v", got)
		}
		want := shop.Settings{
			Name: `Paws <&"ä\`, Phone: "1", Email: "a@b.example", Address: []string{"Road", "Town"}, Website: "https://example.com", Currency: "EUR", TimeZone: "UTC",
			Kind: shop.KindShelter, Window: shop.Window{Enabled: true, Title: "a", Introduction: "Two\nlines", EmbedOrigins: []string{"https://a.example"}},
		}
		for _, after := range []shop.Settings{want, shop.DefaultSettings()} {
			write(t, store, func(tx shop.WriteTx) error { return tx.UpdateSettings(shop.DefaultSettings(), after) })
			if got := get(t, store, shop.ReadTx.Settings); !reflect.DeepEqual(got, after) {
				t.Errorf("got %+v, want %+v", got, after)
			}
		}
	}},

	{name: "a demo store is marked", run: func(t *testing.T, store shop.Store) {
		if get(t, store, shop.ReadTx.Demo) {
			t.Error("a new store is marked as a demo")
		}
		for range 2 { // SetDemo is idempotent
			write(t, store, func(tx shop.WriteTx) error { return tx.SetDemo() })
			if !get(t, store, shop.ReadTx.Demo) {
				t.Error("the mark was not stored")
			}
		}
	}},
}
