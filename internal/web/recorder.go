// Package web is the HTTP plumbing that the JSON API and the staff pages share: the response recorder,
// request ids, the panic guard, the access log, and the table from error codes to statuses.
package web

import (
	"net/http"
	"time"
)

// Recorder is the http.ResponseWriter of one request. It records what was sent, and it closes the
// connection after a response to a request whose body was not read.
type Recorder struct {
	http.ResponseWriter
	status     int
	bytes      int
	unreadBody bool
}

// NewRecorder returns a Recorder for the response to r.
func NewRecorder(w http.ResponseWriter, r *http.Request) *Recorder {
	// Over HTTP/2 an unread body concerns its own stream only, and net/http resets that.
	return &Recorder{ResponseWriter: w, unreadBody: r.ContentLength != 0 && r.ProtoMajor == 1}
}

// BodyRead tells the Recorder that the request's body was read to its end.
func (w *Recorder) BodyRead() { w.unreadBody = false }

// Started reports whether the response's header was sent: it is then too late for another status.
func (w *Recorder) Started() bool { return w.status != 0 }

// unreadBodyTimeout is how long a connection stays open after a response to a request whose body was not read.
const unreadBodyTimeout = time.Second

// WriteHeader sends the header. If the request's body was not read, it also closes the connection soon
// afterwards: net/http would otherwise read the rest of the body first, however slowly the client sends it.
// The client gets a second to read the response before the connection is reset.
func (w *Recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	if w.unreadBody {
		w.Header().Set("Connection", "close")
		http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(unreadBodyTimeout))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *Recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
