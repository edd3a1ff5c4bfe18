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

// TestMayPass: what is certainly undone may run again, and what may have been done must not, whatever broke
// on the way.
func TestUnknownOutcomeIsNeverRetried(t *testing.T) {
	t.Parallel()
	lost := []error{io.ErrUnexpectedEOF, &pgconn.PgError{Code: "57P01"}, context.DeadlineExceeded}
	for _, err := range lost {
		if e := shop.UnavailableError(errors.Join(errNotCommitted, err)); !isRetryable(e) {
			t.Errorf("%v cannot be run again", e)
		}
		if e := shop.UnavailableError(errors.Join(errUnknown, err, io.EOF)); isRetryable(e) {
			t.Errorf("%v is run again", e)
		}
	}
}

// TestViolationsAmongConflicts: one that loses a race for an animal after many other conflicts tries again
// like any other, and one whose every try breaks a constraint is stopped.
func TestRepeatedConstraintViolationsEndTheRetries(t *testing.T) {
	t.Parallel()
	run := func(codes ...string) (tries int, err error) {
		err = (&postgresEngine{retryBudget: time.Minute, retrySlot: make(chan struct{}, 1), metrics: newMetrics()}).retry(t.Context(), t.Context(), func(context.Context) error {
			if tries++; tries > len(codes) {
				return nil
			}
			return postgresError(&pgconn.PgError{Code: codes[tries-1]})
		})
		return tries, err
	}
	conflicts := slices.Repeat([]string{pgSerializationFailure}, maxConstraintViolations+2)
	if tries, err := run(append(conflicts, pgUniqueViolation)...); err != nil {
		t.Errorf("given up after %d tries: %v", tries, err)
	}
	if tries, err := run(slices.Repeat([]string{pgUniqueViolation}, 2*maxConstraintViolations)...); tries != maxConstraintViolations+1 || err == nil {
		t.Errorf("ended after %d tries: %v", tries, err)
	}
}
