package sqlstore

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

	"animalstore/internal/shop"
)

// A write that was certainly not committed may be retried. A write that may have been committed must not be
// retried, whatever the cause of the error is.
func TestUnknownOutcomeIsNeverRetried(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.ErrUnexpectedEOF, &pgconn.PgError{Code: "57P01"}, context.DeadlineExceeded} {
		if e := shop.UnavailableError(errors.Join(errNotCommitted, err)); !isRetryable(e) {
			t.Errorf("%v is not retryable", e)
		}
		if e := shop.UnavailableError(errors.Join(errUnknown, err, io.EOF)); isRetryable(e) {
			t.Errorf("%v is retryable", e)
		}
	}
}

// Conflicts and lock timeouts are retried any number of times, but constraint violations are retried only a few times.
// So a write that violates a constraint in every attempt eventually fails.
func TestRepeatedConstraintViolationsEndTheRetries(t *testing.T) {
	t.Parallel()
	run := func(codes ...string) (attempts int, err error) {
		engine := &postgresEngine{retryBudget: time.Minute, retrySlot: newRetrySlot(), metrics: newMetrics()}
		err = engine.retry(t.Context(), t.Context(), "", 0, func(context.Context) error {
			if attempts++; attempts > len(codes) {
				return nil
			}
			return postgresError(&pgconn.PgError{Code: codes[attempts-1]})
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

// The retry budget is an option of the store. A request may increase it for its own reads and writes.
func TestRetryBudgetLimitsAWrite(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	slow := executing("SELECT pg_sleep(0.4)")
	store := open(t, database, Options{RetryBudget: 200 * time.Millisecond})
	wantUnavailable(t, "with the budget of the store", store.Write(t.Context(), shop.Writing{}, slow))
	must(t, store.Write(t.Context(), shop.Writing{Budget: time.Hour}, slow)) // this request has a larger budget
	store, err := Open(t.Context(), database, Options{})
	must(t, err)
	defer store.Close()
	if got := postgresOf(store).retryBudget; got != defaultTimeout {
		t.Errorf("without the option, the retry budget is %v, want %v", got, defaultTimeout)
	}
}

// Writes that conflict are retried one at a time. If they were retried together, they would conflict again until their
// budget is spent.
func TestRetriesAfterConflictsRunOneAtATime(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t), Options{RetryBudget: time.Hour})
	write(t, store, adding("Rex"))
	var retries, running atomic.Int64
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			runs := 0
			err := store.Write(context.Background(), shop.Writing{}, func(tx shop.WriteTx) error {
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

// renaming returns a write that reads the only pet, calls between, and then renames the pet.
func renaming(name string, between func()) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		pets, err := tx.Pets(shop.PetList{PageRequest: shop.PageRequest{Limit: 1}})
		if err != nil {
			return err
		}
		between()
		after := pets[0]
		after.Name = name
		return tx.UpdatePets(shop.PetUpdate{Before: pets[0], After: after})
	}
}

// A client cancels a write after a conflict and sends a new write to another node. The cancelled write is not
// retried, because a delayed attempt could overwrite the new write.
func TestWriteOfACancelledCallerIsNotRetried(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t), Options{RetryBudget: time.Hour})
	write(t, store, adding("Rex"))
	for _, cancels := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		runs := 0
		err := store.Write(ctx, shop.Writing{}, renaming("late", func() {
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
