package server

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"animalstore/internal/admission"
)

// floodCounter finds clients that make an HTTP/2 connection work for nothing, again and again:
//
//   - They reset their requests before the response. net/http calls the handler nevertheless.
//   - They open the window of a response by a few bytes at a time. Each time, net/http sends a frame.
//   - They make net/http send control frames without ever requesting anything.
//
// An ordinary client also cancels requests, for example when a user leaves a page. Resets therefore count only while they
// are more than half of the connection's requests.
type floodCounter struct {
	found       atomic.Bool   // whether the client floods the connection
	requests    int64         // received requests
	lastStream  atomic.Uint32 // the newest stream that the client has opened
	reset       int64         // requests that the client has reset
	resets      *rate.Limiter
	written     *atomic.Int64 // how often handlers have written a part of a response
	small       int64         // small parts of responses that were sent
	smallFrames *rate.Limiter
	control     int // control frames sent since the last part of a response
}

const (
	// maxControl is the maximum number of control frames that a client gets in a row, without a part of a response
	// between them. An ordinary client gets a few.
	maxControl = 250
	// smallFrame is the size in bytes below which a part of a response counts as small.
	smallFrame = 1 << 10
	// goAwayWait is how long a client may read why its connection is closed. Nothing is read from the client meanwhile, so a
	// client that starts over at once is slowed down, too.
	goAwayWait = time.Second
)

func newFloodCounter(c *limitedConn) floodCounter {
	return floodCounter{written: &c.requests.written, resets: admission.Resets.Limiter(), smallFrames: admission.SmallFrames.Limiter()}
}

// received counts a frame of the client.
func (f *floodCounter) received(got frame) {
	switch {
	case got.kind == headersFrame && got.stream > f.lastStream.Load(): // otherwise, it ends the body of a request
		f.lastStream.Store(got.stream)
		f.requests++
	case got.kind == resetFrame:
		if f.reset++; 2*f.reset > f.requests && !f.resets.Allow() {
			f.found.Store(true)
		}
	}
}

// sent counts a frame that is sent to the client. Calls of sent must not overlap.
func (f *floodCounter) sent(s frame) {
	switch s.kind {
	case headersFrame:
		f.control = 0
	case dataFrame:
		f.control = 0
		if s.length == 0 || s.length >= smallFrame {
			return
		}
		// A handler may write a small part. Only the client's window makes several small frames of what a handler has written.
		if f.small++; f.small > f.written.Load() && !f.smallFrames.Allow() {
			f.found.Store(true)
		}
	case windowUpdateFrame:
	default:
		if f.control++; f.control > maxControl {
			f.found.Store(true)
		}
	}
}

// goAway tells the client of a flood to calm down, and closes the connection a moment later. net/http would send such a
// GOAWAY frame only for errors that it finds itself, so goAway writes the frame. It leaves the frame out if net/http has
// written only a part of its last one, as it often does when its buffer is full of control frames.
func (c *http2Conn) goAway() {
	closing := time.AfterFunc(goAwayWait, func() { c.Close() }) // also ends a write to a client that does not read
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.wentAway {
		closing.Stop()
		return
	}
	c.wentAway = true
	c.limited.listener.dropped.WithLabelValues(reasonFlooded).Inc()
	if c.sent.isBetweenFrames() {
		const enhanceYourCalm = 11
		last := []byte{0, 0, 8, goAwayFrame, 0, 0, 0, 0, 0} // a payload of 8 bytes, no flags, for the whole connection
		last = binary.BigEndian.AppendUint32(last, c.flood.lastStream.Load())
		last = binary.BigEndian.AppendUint32(last, enhanceYourCalm)
		c.Conn.Write(last) // if this fails, the client has disconnected
	}
}
