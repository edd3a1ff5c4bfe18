package web

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// At most max operations run at the same time, and only one for each key. A key with many operations pauses between
// them and does not delay other keys. An operation stops waiting when its context ends.
func TestKeysTakeTurns(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	principal := func() shop.Principal {
		p, err := s.Authenticate(t.Context(), s.Key(t, shop.EventsRead).Secret)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	greedy, modest, third := principal(), principal(), principal()
	synctest.Test(t, func(t *testing.T) {
		turns := NewKeyTurns(2)
		running, names, results := map[string]func(){}, make(chan string, 100), make(chan func(), 100)
		ctx, cancel := context.WithCancel(t.Context())
		begin := func(name string, p shop.Principal) {
			go func() {
				done, err := turns.Wait(ctx, p)
				if err == nil {
					results <- done
					names <- name
				}
			}()
			synctest.Wait()
		}
		want := func(expected ...string) {
			t.Helper()
			synctest.Wait()
			for len(names) > 0 {
				running[<-names] = <-results
			}
			for _, name := range expected {
				if running[name] == nil {
					t.Errorf("%s does not run", name)
				}
			}
			if len(running) != len(expected) {
				t.Errorf("%d operations run, want %q", len(running), expected)
			}
		}
		end := func(name string) {
			running[name]()
			delete(running, name)
		}
		for _, name := range []string{"greedy 1", "greedy 2", "greedy 3"} {
			begin(name, greedy)
		}
		want("greedy 1")
		begin("modest", modest)
		want("greedy 1", "modest")
		begin("third", third)
		end("greedy 1")
		want("modest", "third") // the third key goes first, although the greedy key has been waiting for longer
		end("modest")
		want("third", "greedy 2")
		time.Sleep(time.Second)
		end("greedy 2")
		want("third")
		time.Sleep(turnPause*time.Second - 1)
		want("third")
		time.Sleep(time.Nanosecond)
		want("third", "greedy 3")
		begin("greedy 4", greedy)
		cancel()
		want("third", "greedy 3")
		end("third")
		end("greedy 3")
		want()
		if len(turns.byKey) != 0 || len(turns.running) != 0 {
			t.Errorf("%v and %d operations are counted, want none", turns.byKey, len(turns.running))
		}
	})
}
