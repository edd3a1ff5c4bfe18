package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// serve commits the writes of a queue until it is closed. Each write takes as long as its Timeout says. served is called
// for every write that has run.
func serve(q *Queue, served func(w *Write)) {
	for writes := q.Next(); writes != nil; writes = q.Next() {
		for _, w := range writes {
			if w.Err = w.Begin(); w.Err == nil {
				time.Sleep(w.Timeout)
				served(w)
			}
		}
		Finish(writes, nil)
	}
}

const loadTime = 15 * time.Second

// client is a client that sends one write after another.
type client struct {
	WriteOptions
	gap time.Duration // how long the client pauses after each write
}

// load lets clients write for 15 seconds of virtual time. It returns what their writes have used of that time by key and,
// for each key, the longest time that a write took until it was committed.
func load(t *testing.T, clients ...client) (used, longest map[string]time.Duration) {
	used, longest = map[string]time.Duration{}, map[string]time.Duration{}
	var mu sync.Mutex // guards longest
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		var server, writers sync.WaitGroup
		server.Go(func() { serve(q, func(w *Write) { used[w.Key] += w.Timeout }) })
		ctx, cancel := context.WithTimeout(t.Context(), loadTime)
		defer cancel()
		for _, c := range clients {
			writers.Go(func() {
				for ctx.Err() == nil {
					start := time.Now()
					q.Do(NewWrite(ctx, c.WriteOptions, nil)) // fails only at the end
					mu.Lock()
					longest[c.Key] = max(longest[c.Key], time.Since(start))
					mu.Unlock()
					time.Sleep(c.gap)
				}
			})
		}
		writers.Wait()
		q.Close()
		server.Wait()
	})
	return used, longest
}

func person(key string, took, gap time.Duration) client {
	return client{WriteOptions{Key: key, Timeout: took}, gap}
}

func importer(key string, took time.Duration) client {
	return client{WriteOptions{Key: key, Timeout: took, Priority: Bulk}, 0}
}

func job(took time.Duration) client {
	return client{WriteOptions{Key: "job", Timeout: took, Priority: Background}, 0}
}

// However a client paces its writes, it makes almost three quarters of them beside imports and jobs that never end, and waits at
// most for one step.
func TestStepsLeaveThreeQuartersOfTheTime(t *testing.T) {
	for _, gap := range []time.Duration{0, 100 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond, time.Second} {
		for name, steps := range map[string][]client{
			"imports of one key":    {importer("a", 300*time.Millisecond)},
			"imports of three keys": {importer("a", 300*time.Millisecond), importer("b", 200*time.Millisecond), importer("c", 50*time.Millisecond)},
			"jobs":                  {job(5 * time.Millisecond), job(time.Millisecond)},
			"imports and jobs":      {importer("a", 300*time.Millisecond), job(5 * time.Millisecond), job(time.Millisecond)},
		} {
			t.Run(fmt.Sprint(name, " ", gap), func(t *testing.T) {
				till := person("till", time.Millisecond, gap)
				alone, _ := load(t, till)
				beside, longest := load(t, append(steps, till)...)
				if beside["till"] < alone["till"]*72/100 {
					t.Errorf("the client had %v of the writer's time, and %v alone", beside["till"], alone["till"])
				}
				step := time.Duration(0)
				for _, s := range steps {
					step = max(step, s.Timeout)
				}
				if longest["till"] > step+till.Timeout {
					t.Errorf("a write took %v, beside steps of %v", longest["till"], step)
				}
			})
		}
	}
}

// Even if more interactive writes wait than fit in a group, steps get a good part of a quarter of the time. Imports and
// jobs share it, and so do the keys of imports.
func TestStepsAreNotStarved(t *testing.T) {
	clients := []client{importer("a", 300*time.Millisecond), importer("a", 300*time.Millisecond), importer("b", 300*time.Millisecond), job(5 * time.Millisecond)}
	for i := range 2 * MaxGroup {
		clients = append(clients, person(fmt.Sprint("till ", i%50), 100*time.Microsecond, 0))
	}
	used, _ := load(t, clients...)
	a, b, jobs := used["a"].Seconds(), used["b"].Seconds(), used["job"].Seconds()
	if all := a + b + jobs; all < 2.5 || all > 3.8 || a < 0.15*all || b < 0.15*all || jobs < 0.4*all || jobs > 0.6*all {
		t.Errorf("of 15 s, the imports of two keys had %.1f and %.1f s, and the jobs %.1f s", a, b, jobs)
	}
}

// Without interactive writes, no time is lost between steps.
func TestStepsWaitForNobodyIfNobodyIsThere(t *testing.T) {
	used, _ := load(t, importer("a", 300*time.Millisecond), job(5*time.Millisecond))
	if all := used["a"] + used["job"]; all < loadTime {
		t.Errorf("the steps had %v of %v", all, loadTime)
	}
}

// add queues writes without waiting for them.
func add(t *testing.T, q *Queue, writes ...*Write) {
	t.Helper()
	for _, w := range writes {
		if err := q.add(w); err != nil {
			t.Fatal(err)
		}
	}
}

func write(key string, p Priority) *Write {
	return NewWrite(context.Background(), WriteOptions{Key: key, Priority: p}, nil)
}

// keys returns the keys of writes, separated by spaces.
func keys(writes []*Write) string {
	var all []string
	for _, w := range writes {
		all = append(all, w.Key)
	}
	return strings.Join(all, " ")
}

// A key with more waiting writes than fit in a group does not keep the write of another key out of the group.
func TestKeysTakeTurnsInGroups(t *testing.T) {
	t.Parallel()
	q := NewQueue()
	for range 2 * MaxGroup {
		add(t, q, write("many", Interactive))
	}
	add(t, q, write("one", Interactive), write("two", Interactive), write("two", Interactive))
	group := q.Next()
	if got := keys(group[:6]); len(group) != MaxGroup || got != "many one two many two many" {
		t.Errorf("the group has %d writes and begins with %s", len(group), got)
	}
	if n := q.Waiting(); n != 2*MaxGroup+3-MaxGroup {
		t.Errorf("%d writes are waiting", n)
	}
	add(t, q, write("three", Interactive))
	if got := keys(q.Join(group[:MaxGroup-2])[MaxGroup-2:]); got != "many three" {
		t.Errorf("%s joined the group", got)
	}
}

// Interactive writes that are waiting go before a step, but only one group of them.
func TestStepGoesAfterOneGroup(t *testing.T) {
	t.Parallel()
	q := NewQueue()
	add(t, q, write("import", Bulk), write("job", Background))
	for range MaxGroup + 1 {
		add(t, q, write("person", Interactive))
	}
	var got []string
	for range 3 {
		writes := q.Next()
		got = append(got, fmt.Sprint(len(writes), " ", writes[0].Key))
	}
	if want := []string{"256 person", "1 import", "1 person"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	q.Close()
	if got := keys(q.Next()); got != "job" {
		t.Errorf("after Close, the next write is %q, want the step, without a pause", got)
	}
	if q.Next() != nil {
		t.Error("a queue that is closed and empty has more writes")
	}
	if err := q.Do(write("late", Interactive)); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed queue: %v", err)
	}
}

// A write whose client has gone leaves the queue at once, so that the queue does not keep its rows.
func TestWriteOfAGoneClientLeavesTheQueue(t *testing.T) {
	t.Parallel()
	q := NewQueue()
	for _, p := range []Priority{Interactive, Bulk, Background} {
		ctx, disconnect := context.WithCancel(t.Context())
		add(t, q, write("other", p), write("gone", p), write("gone", p))
		time.AfterFunc(time.Millisecond, disconnect)
		if err := q.Do(NewWrite(ctx, WriteOptions{Key: "gone", Priority: p}, nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the client has gone", err)
		}
		if err := q.Do(NewWrite(ctx, WriteOptions{Key: "new", Priority: p}, nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the client has gone", err)
		}
		if got := keys(q.Drain()); got != "other gone gone" {
			t.Errorf("%s are still waiting", got)
		}
	}
}
