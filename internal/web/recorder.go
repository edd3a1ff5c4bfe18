// Package web contains the HTTP code that the JSON API and the staff pages share: the response recorder,
// request ids, the panic guard, the access log, and the mapping from error codes to HTTP statuses.
package web

import (
	"net/http"
	"time"
)

// Recorder is the http.ResponseWriter for one request. It records the status and the number of bytes sent.
// If the request's body was not read, Recorder closes the connection after the response.
type Recorder struct {
	http.ResponseWriter
	status     int
	bytes      int
	unreadBody bool
}

// NewRecorder returns a Recorder that writes the response to r.
func NewRecorder(w http.ResponseWriter, r *http.Request) Recorder {
	// Over HTTP/2, an unread body affects only its own stream, which net/http resets.
	return Recorder{ResponseWriter: w, unreadBody: r.ContentLength != 0 && r.ProtoMajor == 1}
}

// BodyRead tells the Recorder that the request's body was read completely.
func (w *Recorder) BodyRead() { w.unreadBody = false }

// Started reports whether the response header has been sent. After that, the status can no longer be
// changed.
func (w *Recorder) Started() bool { return w.status != 0 }

// unreadBodyTimeout is how long a connection stays open after the response if the request's body was not
// read.
const unreadBodyTimeout = time.Second

// WriteHeader sends the response header. If the request's body was not read, WriteHeader also closes the
// connection soon afterwards, because net/http would otherwise read the rest of the body, however slowly
// the client sends it. The client has one second to read the response before the connection is reset.
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

// Unwrap gives http.ResponseController access to the underlying ResponseWriter.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
