package postgres

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// aloneHarness has a store with four connections. Another transaction has created kind 7 and has not been
// committed yet, so writes that create things of this kind wait for it.
type aloneHarness struct {
	*testing.T
	store   *node
	direct  *pgtest.DB
	other   *sql.Tx
	running sync.WaitGroup
}

func newAloneHarness(t *testing.T) *aloneHarness {
	t.Helper()
	database := newDatabase(t)
	h := &aloneHarness{T: t, store: open(t, database+"&pool_max_conns=4", Options{}), direct: pgtest.Connect(t, database)}
	var err error
	h.other, err = h.direct.Begin()
	must(t, err)
	t.Cleanup(func() {
		h.other.Rollback()
		h.running.Wait()
	})
	_, err = h.other.Exec("INSERT INTO kinds (id) VALUES (7)")
	must(t, err)
	return h
}

// create adds a thing of a kind. A group can do this only for kind 1. A thing of any other kind is added alone, together
// with the kind if it does not exist.
func (h *aloneHarness) create(ctx context.Context, kind int64) error {
	o := engine.WriteOptions{Declared: declared(func() (string, error) {
		if kind != 1 {
			return "", engine.ErrAlone
		}
		return "lamp", nil
	})}
	return h.store.Engine.Write(ctx, o, alone(func(tx *engine.Tx) error {
		if err := tx.Exec("INSERT INTO kinds (id) VALUES ($1) ON CONFLICT DO NOTHING", kind); err != nil {
			return err
		}
		return tx.Exec("INSERT INTO things (name, kind) VALUES ('lamp', $1)", kind)
	}))
}

// startCreates starts n writes that create a thing of kind 7, and waits until one of them is waiting for the lock.
func (h *aloneHarness) startCreates(n int) {
	h.Helper()
	for range n {
		h.running.Go(func() {
			if err := h.create(context.Background(), 7); err != nil {
				h.Error(err)
			}
		})
	}
	h.direct.AwaitLockWait()
}

// Writes that are waiting for the lock of another transaction leave connections for reads, for the readiness check and
// for groups. The waiting writes succeed when the other transaction ends.
func TestWritesThatWaitForALockLeaveConnections(t *testing.T) {
	t.Parallel()
	h := newAloneHarness(t)
	h.store.timeout = time.Hour // so that no attempt gives up waiting for the lock
	must(t, h.create(t.Context(), 1))
	h.startCreates(12)
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	for range 20 {
		must(t, h.store.Read(ctx, func(*engine.Tx) error { return nil }))
		must(t, h.store.Ready(ctx))
		must(t, h.create(ctx, 1))
	}
	must(t, h.other.Commit())
	h.running.Wait()
	if n := pgtest.Value[int](h.direct, "SELECT count(*) FROM things WHERE kind = 7"); n != 12 {
		t.Errorf("%d things were created, want 12", n)
	}
}

// A write that is waiting for a lock gives up its slot from time to time, so that writes that need no lock can use the
// slot. The waiting write succeeds when the other transaction ends.
func TestWriteThatWaitsForALockGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	h := newAloneHarness(t)
	h.store.timeout = ample / 3 // each attempt waits for the lock for one second
	h.startCreates(1)
	must(t, h.create(t.Context(), 8)) // this write needs the only slot that its key may use
	must(t, h.other.Commit())
	h.running.Wait()
}

// A write that is waiting for a slot fails if its caller goes away. The write has not begun by then.
func TestWriteWaitsForASlotOnlyWhileItsCallerWaits(t *testing.T) {
	t.Parallel()
	h := newAloneHarness(t)
	h.store.timeout = time.Hour
	h.startCreates(1)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	wantUnavailable(t, "the write of a cancelled caller", h.store.Write(ctx, func(*engine.Tx) error {
		t.Error("the write has begun")
		return nil
	}))
	must(t, h.other.Commit())
}

// A write that is retried after a conflict takes the retry slot. While it waits for the lock of another transaction or
// for the server, it leaves the slot to other writes.
func TestWriteThatWaitsLeavesTheRetrySlot(t *testing.T) {
	t.Parallel()
	e := retrier()
	errors := []string{pgSerializationFailure, pgSerializationFailure, pgLockTimeout, pgLockTimeout,
		pgSerializationFailure, pgReadOnly, pgSerializationFailure}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var taken []bool // for each attempt, whether the slot was taken
	must(t, e.retry(t.Context(), t.Context(), engine.WriteOptions{}, func(context.Context) error {
		slot, err := e.retrySlot.Acquire(ended, "another key")
		slot.Release()
		if taken = append(taken, err != nil); len(taken) > len(errors) {
			return nil
		}
		return convertError(&pgconn.PgError{Code: errors[len(taken)-1]})
	}))
	if want := []bool{false, true, true, false, false, true, false, true}; !slices.Equal(taken, want) {
		t.Errorf("the slot was taken: %v, want %v", taken, want)
	}
	if running, waiting := e.retrySlot.Counts(); running+waiting != 0 {
		t.Errorf("%d writes are in the retry slot and %d wait for it, want none", running, waiting)
	}
}

// API keys take turns for the retry slot, so a retry by one key waits for at most one retry by another key.
func TestKeysTakeTurnsForTheRetrySlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := retrier()
		var order []string
		var running sync.WaitGroup
		first, err := e.retrySlot.Acquire(t.Context(), "greedy")
		must(t, err)
		for range 3 {
			running.Go(func() {
				slot, err := e.retrySlot.Acquire(t.Context(), "greedy")
				must(t, err)
				order = append(order, "greedy")
				slot.Release()
			})
		}
		synctest.Wait()
		attempts := 0
		running.Go(func() {
			must(t, e.retry(t.Context(), t.Context(), engine.WriteOptions{}, func(context.Context) error {
				if attempts++; attempts == 1 {
					return convertError(&pgconn.PgError{Code: pgSerializationFailure})
				}
				order = append(order, "other")
				return nil
			}))
		})
		time.Sleep(100 * time.Millisecond) // longer than the pause after the conflict
		first.Release()
		running.Wait()
		if want := []string{"greedy", "other", "greedy", "greedy"}; !slices.Equal(order, want) {
			t.Errorf("the order was %v, want %v", order, want)
		}
	})
}

// A write that finds the disk full fails at once, whether it runs in a group or alone, and is not retried. As soon as there is
// space, TryWrite works. It leaves nothing behind.
func TestFullDiskFailsAtOnce(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	direct.Do(`CREATE FUNCTION fill() RETURNS TRIGGER LANGUAGE plpgsql AS
		$$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$`,
		"CREATE TRIGGER full_disk BEFORE INSERT ON things EXECUTE FUNCTION fill()")
	group := engine.WriteOptions{Declared: declared(func() (string, error) { return "lamp", nil })}
	for name, err := range map[string]error{
		"group": store.Engine.Write(t.Context(), group, alone(adding("lamp"))),
		"alone": store.Write(t.Context(), adding("lamp")),
	} {
		if wantUnavailable(t, name, err); engine.KindOf(err) != engine.DiskFull {
			t.Errorf("%s: got %v, want %s", name, err, engine.DiskFull)
		}
	}
	// The group was the only write that ran again: alone.
	if n := measured(t, store, "animalstore_database_retries_total", string(engine.DiskFull)); n != 1 {
		t.Errorf("writes ran again %v times, want 1", n)
	}
	for range 2 {
		must(t, store.TryWrite(t.Context()))
	}
	if n := pgtest.Value[int](direct, "SELECT count(*) FROM pg_class WHERE relname = 'animalstore_probe'"); n != 0 {
		t.Error("TryWrite has left its table behind")
	}
}
