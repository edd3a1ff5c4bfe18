// Package web contains the HTTP code that the JSON API and the staff pages share: the response recorder,
// request ids, the panic guard, the access log, and the mapping from error codes to HTTP statuses.
package web

import (
	"io"
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
	stream     io.Closer // the body of a request over HTTP/2 if it has not been read, otherwise nil
}

// NewRecorder returns a Recorder for the request r. It writes the response to w.
func NewRecorder(w http.ResponseWriter, r *http.Request) Recorder {
	recorder := Recorder{ResponseWriter: w, unreadBody: r.ContentLength != 0 && r.ProtoMajor == 1}
	if r.ContentLength != 0 && r.ProtoMajor == 2 {
		recorder.stream = r.Body
	}
	return recorder
}

// BodyRead tells the Recorder that the request's body was read completely.
func (w *Recorder) BodyRead() { w.unreadBody, w.stream = false, nil }

// Started reports whether the response header has been sent. After that, the status can no longer be
// changed.
func (w *Recorder) Started() bool { return w.status != 0 }

// WriteHeader sends the response header and limits how long the client may take to read the response. Later
// calls have no effect.
//
// If the request's body was not read, WriteHeader also closes the connection soon afterwards, because net/http
// would otherwise read the rest of the body, however slowly the client sends it. The client has one second to
// read the response before the connection is reset.
func (w *Recorder) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	// Setting a deadline fails only if the connection does not support it, as in some tests.
	http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(ResponseTimeout))
	if w.unreadBody {
		w.Header().Set("Connection", "close")
		http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(unreadBodyTimeout))
	}
	if w.stream != nil {
		w.stream.Close() // over HTTP/2, net/http would otherwise keep the rest of the body in memory
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
