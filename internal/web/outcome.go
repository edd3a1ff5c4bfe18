package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"animalstore/internal/shop"
)

// Outcome describes how a request ended.
type Outcome struct {
	Status  int    // the status that was sent, or StatusClientGone
	Err     error  // nil if the request succeeded
	Stack   string // the stack trace if the handler panicked, otherwise ""
	Aborted bool   // the response had started but could not be completed
}

// EndOf returns how a request ended. err is the error of its handler. recovered is the value that a deferred call of
// recover returned. If the handler failed or panicked before the response had started, EndOf calls sendError. Once the
// response has started, it is too late for an error response. In that case the Outcome is marked as Aborted, and the
// caller must call Outcome.Abort.
func EndOf(w *Recorder, r *http.Request, err error, recovered any, sendError func(*shop.Error)) Outcome {
	o := Outcome{Err: err}
	if recovered != nil {
		o.Err = fmt.Errorf("panic: %v", recovered)
		o.Stack = string(debug.Stack())
		o.Aborted = recovered == http.ErrAbortHandler
	}
	if o.Err != nil && w.Started() {
		o.Aborted = true
	}
	if o.Err != nil && !o.Aborted {
		sendError(shop.AsError(o.Err))
	}
	o.Status = w.status
	// If a response was cut off without a panic, a write failed because the client had disconnected.
	cutOff := o.Aborted && o.Stack == ""
	if r.Context().Err() != nil && (cutOff || errors.Is(o.Err, context.Canceled)) {
		o.Status = StatusClientGone
	}
	return o
}

// Abort drops the connection (HTTP/1) or resets the stream (HTTP/2) if the response is incomplete, so that
// the client does not mistake it for a complete response. In that case Abort panics instead of returning,
// so it must be the last call in an http.Handler.
func (o Outcome) Abort() {
	if o.Aborted {
		panic(http.ErrAbortHandler)
	}
}

// isFault reports whether the request failed because of a fault in this service. It is not a fault if a
// node that is shutting down refuses a request.
func (o Outcome) isFault(stopping bool) bool {
	if o.Aborted {
		return o.Status != StatusClientGone
	}
	return o.Status >= 500 && !(stopping && isRefusal(o.Err))
}

// isRefusal reports whether err means that this service deliberately refused the request as unavailable. An error that
// has a cause, such as a failure of the store, is not a refusal.
func isRefusal(err error) bool {
	e := shop.AsError(err)
	return e.Code == shop.Unavailable && e.Unwrap() == nil
}
