package web

import (
	"context"
	"errors"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// ResponseTimeout is how long a client may take to read a complete response. Handlers that take longer, such as
// streams, set deadlines of their own after WriteHeader.
const ResponseTimeout = 30 * time.Second

// unreadBodyTimeout is how long a connection stays open after the response if the request's body was not
// read.
const unreadBodyTimeout = time.Second

// Limits holds the limits that the API and the staff pages share. It turns refusals into errors of the API.
type Limits struct {
	*admission.Controller
	// OnPhotoMemory is called with a number of bytes when an image begins to need so much memory, and with the negative
	// number afterwards. It may be nil.
	OnPhotoMemory func(bytes int64)
}

// NewLimits returns limits that are completely unused. requestsPerSecond is the limit for each API key. 0 means no limit.
func NewLimits(requestsPerSecond int) *Limits {
	return &Limits{Controller: admission.New(requestsPerSecond)}
}

// Acquire waits until an operation may run, if its limit lets it wait. The caller must release the slot. Acquire fails
// with rate_limited if the operation would exceed the share of its key, or if it has waited for too long. It fails with
// unavailable if all keys together have used up the limit, or if the context ends.
func (l *Limits) Acquire(ctx context.Context, kind admission.Kind, principal shop.Principal) (admission.Slot, error) {
	slot, err := l.Controller.Acquire(ctx, kind, principal.Actor())
	return slot, refusalError(err)
}

// HoldRequest counts the memory of a request body. kind is the limit for bodies of its kind. The caller must release the
// slot. HoldRequest fails as HoldBody does.
func (l *Limits) HoldRequest(kind admission.Kind, principal shop.Principal, size int64) (admission.Slot, error) {
	switch kind {
	case admission.BodyMemory:
		return l.HoldBody(principal, size)
	case admission.PhotoBodies:
		slot, err := l.Controller.AcquireN(kind, principal.Actor(), int(size))
		return slot, refusalError(err)
	}
	return admission.Slot{}, nil // the number of imports is limited, which also limits their memory
}

// acquirePhotoMemory waits until there is enough memory to decode an image. The caller must release the slot. It fails with
// unavailable if the context ends.
func (l *Limits) acquirePhotoMemory(ctx context.Context, principal shop.Principal, bytes int64) (admission.Slot, error) {
	slot, err := l.Controller.AwaitN(ctx, admission.PhotoMemory, principal.Actor(), int(bytes))
	return slot, refusalError(err)
}

// HoldSent counts the memory of something that is sent to somebody without a key. The caller must release the slot. It fails
// with unavailable if too much is being sent.
func (l *Limits) HoldSent(kind admission.Kind, weight int) (admission.Slot, error) {
	slot, err := l.Controller.AcquireN(kind, "", weight)
	return slot, refusalError(err)
}

// HoldBody counts the memory of a request body or a response. The caller must release the slot. HoldBody fails with
// rate_limited if this key uses too much and with unavailable if all keys together do.
func (l *Limits) HoldBody(principal shop.Principal, size int64) (admission.Slot, error) {
	slot, err := l.Controller.HoldBody(principal.Actor(), size)
	return slot, refusalError(err)
}

func refusalError(err error) error {
	if err == nil {
		return nil
	}
	refusal, ok := errors.AsType[*admission.Refusal](err)
	switch {
	case !ok: // the context ended during the wait
		return shop.UnavailableError(err)
	case refusal.ByKey || refusal.TimedOut:
		return shop.Errorf(shop.RateLimited, "%s", refusal.Error())
	}
	return shop.Errorf(shop.Unavailable, "%s", refusal.Error())
}
