package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// grouped returns a write for a group that returns a name and an error.
func grouped(fn func() (string, error)) *engine.Write {
	return engine.NewWrite(context.Background(), engine.WriteOptions{Declared: declared(fn)}, nil)
}

func naming(name string) *engine.Write { return grouped(func() (string, error) { return name, nil }) }

func wantAlone(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrAlone) {
		t.Errorf("%s: %v, want that it has to run alone", what, err)
	}
}

// If a write of a group is refused, panics or has to run alone, the others are committed, in two round trips.
func TestWritesOfAGroupAreIndependent(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t, newDatabase(t))
	h.works("before")
	refused := errors.New("on purpose")
	writes := []*engine.Write{
		naming("a"), grouped(func() (string, error) { return "", refused }), grouped(func() (string, error) { panic("a bug") }),
		grouped(func() (string, error) { return "", engine.ErrAlone }), naming("b"),
	}
	_, err := h.store.commitGroup(writes)
	must(t, errors.Join(err, writes[0].Err, writes[4].Err))
	if !errors.Is(writes[1].Err, refused) || writes[2].Panic == nil {
		t.Errorf("the writes have failed with %v and %v", writes[1].Err, writes[2].Panic)
	}
	wantAlone(t, "a write", writes[3].Err)
	before := h.proxy.RoundTrips()
	_, err = h.store.commitGroup([]*engine.Write{naming("c"), naming("d")})
	must(t, err)
	if n := h.proxy.RoundTrips() - before; n != 2 {
		t.Errorf("a group took %d round trips, want 2", n)
	}
	checkOutcomes(t, h.direct, map[string]error{"before": nil, "a": nil, "b": nil, "c": nil, "d": nil})
}

// The connection breaks while a group is being committed, before or after the server has received the pipeline with the
// COMMIT. The group is reported as committed only if it was. A pipeline that the server receives late fails, because
// resolveCommit has reserved the id of the commit.
func TestLostCommitOfAGroupIsDoneOnce(t *testing.T) {
	t.Parallel()
	for name, set := range pgtest.LostCommits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFaultHarness(t, newDatabase(t))
			disconnected, release := set(h.proxy, pgtest.IsCommit)
			_, err := h.store.commitGroup([]*engine.Write{naming("a"), naming("b")})
			pgtest.AwaitSignal(t, "a COMMIT", disconnected)
			release()
			if name == "after" {
				must(t, err)
				checkOutcomes(t, h.direct, map[string]error{"a": nil, "b": nil})
				return
			}
			wantAlone(t, "the group", err)
			checkOutcomes(t, h.direct, map[string]error{})
		})
	}
}

// A write that is waiting for a group fails when its time is over, even if the groups before it are stuck. A write that a
// group could not run does not get its time twice. Neither of these writes is done later.
func TestGroupsKeepToTheTimeout(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	// begun is buffered, because a write may begin more than once on a busy machine.
	begun, release := make(chan struct{}, 2*defaultMaxConns), make(chan struct{})
	var running sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		o := engine.WriteOptions{Declared: declared(func() (string, error) {
			begun <- struct{}{}
			<-release
			return name, nil
		})}
		running.Go(func() {
			if err := store.Engine.Write(t.Context(), o, alone(adding(name))); err != nil {
				t.Error(err)
			}
		})
		<-begun // now that this write has begun, the next one needs another group
	}
	store.timeout = shortTimeout
	err := store.group(t.Context(), "too late")
	if wantUnavailable(t, "a write behind groups that are stuck", err); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write behind groups that are stuck: %v", err)
	}
	close(release)
	running.Wait()
	slow := engine.WriteOptions{Declared: declared(func() (string, error) {
		time.Sleep(store.timeout)
		return "", engine.ErrAlone
	})}
	wantUnavailable(t, "a slow write that a group cannot run", store.Engine.Write(t.Context(), slow, alone(adding("slow"))))
	checkOutcomes(t, direct, map[string]error{"a": nil, "b": nil})
}

// If the client of a write goes away while its group runs, and the group cannot run the write, it is not done later: the
// client may already have sent its request to another node.
func TestWriteOfAGoneClientDoesNotRunAfterItsGroup(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	ctx, cancel := context.WithCancel(t.Context())
	o := engine.WriteOptions{Declared: declared(func() (string, error) {
		cancel()
		return "", engine.ErrAlone
	})}
	err := store.Engine.Write(ctx, o, alone(adding("late")))
	if wantUnavailable(t, "the write", err); !errors.Is(err, context.Canceled) {
		t.Errorf("the write: %v", err)
	}
	checkOutcomes(t, direct, map[string]error{})
}
