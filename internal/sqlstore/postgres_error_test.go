package sqlstore

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"animalstore/internal/shop"
)

// A write that was certainly not committed may be retried. A write that may have been committed must not be
// retried, whatever the cause of the error is.
func TestUnknownOutcomeIsNeverRetried(t *testing.T) {
	t.Parallel()
	lost := []error{io.ErrUnexpectedEOF, &pgconn.PgError{Code: "57P01"}, context.DeadlineExceeded}
	for _, err := range lost {
		if e := shop.UnavailableError(errors.Join(errNotCommitted, err)); !isRetryable(e) {
			t.Errorf("%v is not retryable", e)
		}
		if e := shop.UnavailableError(errors.Join(errUnknown, err, io.EOF)); isRetryable(e) {
			t.Errorf("%v is retryable", e)
		}
	}
}

// A constraint violation is retried like any other conflict, even after many conflicts. A write that violates
// a constraint in every attempt is eventually not retried any more.
func TestRepeatedConstraintViolationsEndTheRetries(t *testing.T) {
	t.Parallel()
	run := func(codes ...string) (attempts int, err error) {
		err = (&postgresEngine{retryBudget: time.Minute, retrySlot: make(chan struct{}, 1), metrics: newMetrics()}).retry(t.Context(), t.Context(), func(context.Context) error {
			if attempts++; attempts > len(codes) {
				return nil
			}
			return postgresError(&pgconn.PgError{Code: codes[attempts-1]})
		})
		return attempts, err
	}
	conflicts := slices.Repeat([]string{pgSerializationFailure}, maxConstraintViolations+2)
	if attempts, err := run(append(conflicts, pgUniqueViolation)...); err != nil {
		t.Errorf("given up after %d attempts: %v", attempts, err)
	}
	if attempts, err := run(slices.Repeat([]string{pgUniqueViolation}, 2*maxConstraintViolations)...); attempts != maxConstraintViolations+1 || err == nil {
		t.Errorf("stopped after %d attempts: %v", attempts, err)
	}
}
