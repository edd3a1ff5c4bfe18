package sqlstore

import (
	"context"
	"errors"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// shopError converts a failure of the database to a shop error. All other errors come from the function that has read
// or written, and stay as they are.
func shopError(err error) error {
	e, failed := errors.AsType[*engine.Error](err)
	if _, own := errors.AsType[*shop.Error](err); own || !failed {
		return err
	}
	switch e.Class {
	case engine.Unavailable:
		if e.Kind == engine.DiskFull {
			return shop.FullError(err)
		}
		return shop.UnavailableError(err)
	case engine.Timeout:
		return shop.TimeoutError(err)
	default:
		return shop.InternalError(err)
	}
}

// spanCode returns the code of an error for a span, and whether the error is a failure. Any other error means that a
// rule refused the request.
func spanCode(err error) (code string, failure bool) {
	c := shop.AsError(shopError(err)).Code
	return string(c), c == shop.Internal || c == shop.Unavailable
}

// isFailure reports whether err is a failure of the database or a bug in this program. It returns false if the shop's
// rules caused err, if the store is closed, or if the client has cancelled its request.
func isFailure(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*shop.Error](err)
	return ok && e.Unwrap() != nil && !errors.Is(err, engine.ErrClosed) && !(errors.Is(err, context.Canceled) && ctx.Err() != nil)
}
