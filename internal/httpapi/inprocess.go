package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"
)

// inProcess is the transport for the requests that assistants' tools send. It calls the API directly. The API checks,
// limits, counts and logs these requests as if the client had sent them.
type inProcess struct{ api *API }

type outerRequestKey struct{}

// withOuterRequest returns a context for the requests that a tool sends while it handles r, the assistant's request.
func withOuterRequest(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, outerRequestKey{}, r)
}

// isInner reports whether a request was sent by a tool.
func isInner(r *http.Request) bool { return r.Context().Value(outerRequestKey{}) != nil }

// RoundTrip starts the request and returns as soon as the response has started. The request is cancelled when the
// outer request ends.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	outer := r.Context().Value(outerRequestKey{}).(*http.Request)
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(outer.Context(), cancel)
	inner := r.Clone(ctx)
	inner.RequestURI, inner.Host, inner.RemoteAddr, inner.TLS = r.URL.RequestURI(), outer.Host, outer.RemoteAddr, outer.TLS
	inner.Header["Traceparent"] = outer.Header["Traceparent"]
	reader, writer := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: writer, started: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if recover() == nil {
				w.end(nil)
				return
			}
			w.end(io.ErrUnexpectedEOF) // the API has logged an error and panicked, to cut off the response
		}()
		t.api.ServeHTTP(w, inner)
	}()
	end := func() {
		cancel()
		reader.Close()
		<-done
		stop()
		r.Body.Close()
	}
	select {
	case <-w.started:
	case <-ctx.Done():
		end()
		return nil, ctx.Err()
	}
	return &http.Response{
		StatusCode: w.status, Header: w.sent, Body: &pipeBody{reader, end}, ContentLength: -1,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
	}, nil
}

// pipeBody is the body of a response. Closing it ends the request and waits until the API has finished.
type pipeBody struct {
	*io.PipeReader
	end func()
}

func (b *pipeBody) Close() error {
	b.end()
	return nil
}

// pipeWriter is the http.ResponseWriter of an in-process request. The reader gets each part of the body as soon as it
// is written.
type pipeWriter struct {
	header  http.Header
	sent    http.Header // a copy of header at the time of WriteHeader
	status  int
	body    *io.PipeWriter
	started chan struct{} // closed by WriteHeader
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	}
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// end ends the body. If err is nil, the response is complete.
func (w *pipeWriter) end(err error) {
	w.WriteHeader(http.StatusOK)
	w.body.CloseWithError(err)
}

// FlushError does nothing, because nothing is buffered.
func (w *pipeWriter) FlushError() error { return nil }

// SetReadDeadline does nothing, because the body of the request is in memory.
func (w *pipeWriter) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing, because the reader is in this process.
func (w *pipeWriter) SetWriteDeadline(time.Time) error { return nil }
