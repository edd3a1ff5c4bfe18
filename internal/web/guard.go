package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"animalstore/internal/shop"
)

// StatusClientGone stands in logs and metrics for a request whose client disconnected before the response.
// Clients never see it. nginx uses the same number.
const StatusClientGone = 499

// Outcome is how a request ended.
type Outcome struct {
	Status  int    // that was sent, or StatusClientGone
	Err     error  // nil if the request succeeded
	Stack   string // where the handler panicked; "" if it did not
	Aborted bool   // the response has started and cannot be completed
}

// Guard calls handle. If that fails or panics before the response has started, Guard calls sendError. If
// the response has already started, it is too late for an error response: the Outcome is Aborted, and the
// caller must call Outcome.Abort.
func Guard(w *Recorder, r *http.Request, handle func() error, sendError func(*shop.Error)) (o Outcome) {
	defer func() {
		if p := recover(); p != nil {
			o.Err = fmt.Errorf("panic: %v", p)
			o.Stack = string(debug.Stack())
			o.Aborted = p == http.ErrAbortHandler
		}
		if o.Err != nil && w.Started() {
			o.Aborted = true
		}
		if o.Err != nil && !o.Aborted {
			sendError(shop.AsError(o.Err))
		}
		o.Status = w.status
		if errors.Is(o.Err, context.Canceled) && r.Context().Err() != nil {
			o.Status = StatusClientGone
		}
	}()
	o.Err = handle()
	return o
}

// Abort drops the connection (HTTP/1) or resets the stream (HTTP/2) if the response is incomplete, so that
// the client does not mistake it for a complete one. It does not return then, so it must be the last call
// of an http.Handler.
func (o Outcome) Abort() {
	if o.Aborted {
		panic(http.ErrAbortHandler)
	}
}

// isFault reports whether the request failed through a fault of this service. That a stopping node refuses
// a request is none.
func (o Outcome) isFault(stopping bool) bool {
	if o.Aborted {
		return o.Status != StatusClientGone
	}
	return o.Status >= 500 && !(stopping && isRefusal(o.Err))
}

// isRefusal reports whether err is a deliberate refusal, not the consequence of another error.
func isRefusal(err error) bool {
	e := shop.AsError(err)
	return e.Code == shop.Unavailable && e.Unwrap() == nil
}
