package client_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"

	"animalstore/client"
)

// fault handles one request. It either responds by itself, or calls the service and may change the response.
type fault func(w http.ResponseWriter, r *http.Request, service http.Handler)

// passThrough injects no fault. The service handles the request as usual.
func passThrough(w http.ResponseWriter, r *http.Request, service http.Handler) {
	service.ServeHTTP(w, r)
}

// dropRequest cuts the connection before the service sees the request.
func dropRequest(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// dropResponse cuts the connection after the service has handled the request. It only cuts a stream, which
// the service never finishes.
func dropResponse(_ http.ResponseWriter, r *http.Request, service http.Handler) {
	if !isStream(r) {
		service.ServeHTTP(httptest.NewRecorder(), r)
	}
	panic(http.ErrAbortHandler)
}

// cutResponse cuts the connection in the middle of the response.
func cutResponse(w http.ResponseWriter, r *http.Request, service http.Handler) {
	if isStream(r) {
		cutAfterHeader(w, r, service)
	}
	whole := httptest.NewRecorder()
	service.ServeHTTP(whole, r)
	if whole.Body.Len() == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), whole.Header())
	w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	w.WriteHeader(whole.Code)
	w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// cutAfterHeader cuts the connection after it has sent the response headers of a stream.
func cutAfterHeader(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/event-stream")
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func isStream(r *http.Request) bool { return r.Header.Get("Accept") == "text/event-stream" }

// hang never sends a response.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// goIdle returns a fault that sends a text on the stream and then sends nothing more.
func goIdle(text string) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		stream(text)(w, r, service)
		http.NewResponseController(w).Flush()
		hang(w, r, service)
	}
}

// respond returns a fault that sends this response instead of calling the service. The headers are
// alternating names and values.
func respond(status int, body string, headers ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Add(pair[0], pair[1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// stream returns a fault that sends this text as an event stream and then closes it.
func stream(text string) fault {
	return respond(200, text, "Content-Type", "text/event-stream; charset=utf-8")
}

// proxyError is a fault of a proxy that sends an error page after the service has handled the request.
func proxyError(status int) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		if !isStream(r) {
			service.ServeHTTP(httptest.NewRecorder(), r)
		}
		respond(status, proxyPage, "Content-Type", "text/html")(w, r, service)
	}
}

const proxyPage = "<html><head><title>502 Bad Gateway</title></head></html>"

// refuse returns a fault that sends an error as the service would.
func refuse(status int, code client.Code, headers ...string) fault {
	return respond(status, errorBody(status, code), append(headers, "Content-Type", "application/json", "X-Request-Id", "r1")...)
}

func errorBody(status int, code client.Code) string {
	return fmt.Sprintf(`{"code":%q,"message":"An injected error.","status":%d}`, code, status)
}
