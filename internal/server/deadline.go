package server

import (
	"net/http"
	"sync"
	"time"
)

// streamDeadline is a deadline for reading the body of a request over HTTP/2 or for writing its response. net/http has
// such deadlines, too, but if one is set while the client is resetting the stream, net/http keeps the request and its
// connection in memory until the deadline passes. Clients that reset many streams could fill the memory in this way.
type streamDeadline struct {
	pass  func(time.Time) error // sets net/http's deadline; a time in the past ends the stream at once
	mu    sync.Mutex
	timer *time.Timer // nil if there is no deadline
}

// set replaces the deadline. A zero time removes it, which must happen before the handler returns, because the stream
// must not be used after that.
func (d *streamDeadline) set(deadline time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	remaining := time.Until(deadline)
	switch {
	case deadline.IsZero():
		return nil
	case remaining <= 0:
		return d.pass(deadline)
	}
	var timer *time.Timer
	timer = time.AfterFunc(remaining, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timer == timer { // otherwise, the deadline was replaced meanwhile
			d.pass(deadline)
		}
	})
	d.timer = timer
	return nil
}

// SetReadDeadline sets the deadline for reading the body of the request.
func (t *trackedRequest) SetReadDeadline(deadline time.Time) error {
	if t.readBy != nil {
		return t.readBy.set(deadline)
	}
	return http.NewResponseController(t.ResponseWriter).SetReadDeadline(deadline)
}

// SetWriteDeadline sets the deadline for writing the response.
func (t *trackedRequest) SetWriteDeadline(deadline time.Time) error {
	if t.writeBy != nil {
		return t.writeBy.set(deadline)
	}
	return http.NewResponseController(t.ResponseWriter).SetWriteDeadline(deadline)
}
