package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// retrier returns an engine without a server, for tests of retry.
func retrier() *Engine {
	return &Engine{timeout: time.Minute, retrySlot: newRetrySlot(), options: Options{Options: engine.Options{Metrics: engine.NewMetrics()}}}
}

// A write that was certainly not committed may be retried. A write that may have been committed must not be
// retried, whatever the cause of the error is.
func TestUnknownOutcomeIsNeverRetried(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.ErrUnexpectedEOF, &pgconn.PgError{Code: "57P01"}, context.DeadlineExceeded} {
		if e := unavailableError(errors.Join(errNotCommitted, err)); !isRetryable(e) {
			t.Errorf("%v is not retryable", e)
		}
		if e := unavailableError(errors.Join(errUnknownOutcome, err, io.EOF)); isRetryable(e) {
			t.Errorf("%v is retryable", e)
		}
	}
}

// Conflicts and lock timeouts are retried any number of times, but constraint violations are retried only a few times.
// So a write that violates a constraint in every attempt eventually fails.
func TestRepeatedConstraintViolationsEndTheRetries(t *testing.T) {
	t.Parallel()
	run := func(codes ...string) (attempts int, err error) {
		e := retrier()
		err = e.retry(t.Context(), t.Context(), engine.WriteOptions{}, func(context.Context) error {
			if attempts++; attempts > len(codes) {
				return nil
			}
			return convertError(&pgconn.PgError{Code: codes[attempts-1]})
		})
		return attempts, err
	}
	conflicts := slices.Repeat([]string{pgSerializationFailure, pgDeadlock, pgLockTimeout}, maxConstraintViolations)
	if attempts, err := run(append(conflicts, pgUniqueViolation)...); err != nil {
		t.Errorf("given up after %d attempts: %v", attempts, err)
	}
	violations := slices.Repeat([]string{pgUniqueViolation}, 2*maxConstraintViolations)
	if attempts, err := run(violations...); attempts != maxConstraintViolations+1 || err == nil {
		t.Errorf("stopped after %d attempts: %v", attempts, err)
	}
}

// The time for a write is an option of the engine. A write may ask for more.
func TestRetryBudgetLimitsAWrite(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	slow := executing("SELECT pg_sleep(0.4)")
	store := open(t, database, Options{Options: engine.Options{Timeout: 200 * time.Millisecond}})
	wantUnavailable(t, "with the timeout of the store", store.Write(t.Context(), slow))
	must(t, store.Engine.Write(t.Context(), engine.WriteOptions{Timeout: time.Hour}, alone(slow))) // this write has more time
}

// Writes that conflict are retried one at a time. If they were retried together, they would conflict again until their
// time is over.
func TestRetriesAfterConflictsRunOneAtATime(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t), Options{Options: engine.Options{Timeout: time.Hour}})
	write(t, store, adding("lamp"))
	var retries, running atomic.Int64
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			runs := 0
			err := store.Write(context.Background(), func(tx *engine.Tx) error {
				if runs++; runs > 1 {
					retries.Add(1)
					if n := running.Add(1); n > 1 {
						t.Errorf("%d retries run at the same time", n)
					}
					defer running.Add(-1)
				}
				return renaming(fmt.Sprint(i), func() {})(tx)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if retries.Load() == 0 {
		t.Error("nothing was retried")
	}
}

// renaming returns a write that reads the only thing, calls between, and then renames it.
func renaming(name string, between func()) func(*engine.Tx) error {
	return func(tx *engine.Tx) error {
		id, _, err := engine.One(tx, engine.ScanValue[int64], "SELECT id FROM things ORDER BY id LIMIT 1")
		if err != nil {
			return err
		}
		between()
		return tx.Exec("UPDATE things SET name = $1 WHERE id = $2", name, id)
	}
}

// A client cancels a write after a conflict and sends a new write to another node. The cancelled write is not
// retried, because a delayed attempt could overwrite the new write.
func TestWriteOfACancelledCallerIsNotRetried(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t), Options{Options: engine.Options{Timeout: time.Hour}})
	write(t, store, adding("lamp"))
	for _, cancels := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		runs := 0
		err := store.Write(ctx, renaming("late", func() {
			if runs++; runs > 1 {
				return
			}
			if cancels {
				cancel()
			}
			write(t, store, renaming("soon", func() {}))
		}))
		if cancels {
			wantUnavailable(t, "the write of a cancelled caller", err)
		} else {
			must(t, err)
		}
		if cancels != (runs == 1) {
			t.Errorf("the caller cancels: %v; %d runs", cancels, runs)
		}
	}
}

// If the server rejects a COMMIT because of the data, the write fails at once, because it would be rejected again.
func TestRejectedCommitIsNotRetried(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	direct.Do(`CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'rejected' USING ERRCODE = 'check_violation'; END $$`,
		"CREATE CONSTRAINT TRIGGER rejecting AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION reject()")
	runs := 0
	err := store.Write(t.Context(), func(tx *engine.Tx) error {
		runs++
		return adding("rejected")(tx)
	})
	if e, ok := errors.AsType[*engine.Error](err); !ok || e.Class != engine.Internal || runs != 1 {
		t.Errorf("after %d runs: %v, want an internal error after one", runs, err)
	}
}

// A server that ends a session because of a timeout still serves the other sessions. A server that shuts down does not.
func TestSessionTimeoutDoesNotMeanThatTheServerIsLost(t *testing.T) {
	t.Parallel()
	for code, lost := range map[string]bool{"25P03": false, "25P04": false, "57P05": false, "57P01": true, "XX000": true} {
		if got := isServerLost(&pgconn.PgError{Code: code, SeverityUnlocalized: "FATAL"}); got != lost {
			t.Errorf("%s means that the server is lost: %v, want %v", code, got, lost)
		}
	}
}
