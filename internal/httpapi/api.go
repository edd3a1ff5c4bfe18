// Package httpapi implements the JSON API. It decodes requests, calls shop.Service, and encodes responses.
// The table in routes.go lists all operations.
package httpapi

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/admission"
	"animalstore/internal/mcp"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// Config configures an API. Service and Log are required. For every other field, the zero value selects
// the default.
type Config struct {
	Service *shop.Service
	Log     *slog.Logger
	// AccessLog receives the log lines for successful requests, one per Write. If it is nil, these lines
	// go to Log.
	AccessLog io.Writer
	// PublicURL is the base URL that clients use. It ends in /v1. If it is empty, links are built from the
	// Host header in each request.
	PublicURL string
	// StagingURL is the base URL of the staging deployment. Unless it is empty, the OpenAPI document lists
	// it as a server.
	StagingURL string
	// Origins are the web origins that may use the API from a browser (CORS). "*" allows every origin.
	Origins []string
	// Limits are the limits that the API shares with the staff pages. If it is nil, the API has its own.
	Limits *web.Limits
	// Today returns the date that decides whether a deprecated operation is still served. If it is nil,
	// the system clock is used.
	Today func() time.Time
	// TLS is true if this process, and not a proxy, terminates TLS.
	TLS bool
	// Version is the program version that the metrics report.
	Version string
	// Collectors are additional metrics to serve at /metrics.
	Collectors []prometheus.Collector
}

// API is the http.Handler that serves the JSON API, its documentation, and the health and metrics
// endpoints.
type API struct {
	Config
	documents          *documents
	docs               *docs
	router             *router
	metrics            *metrics
	accessLog          *web.AccessLog
	pageCache          *web.ResponseCache[cachedResponse] // cached responses to GET /pets
	petCache           *web.ResponseCache[cachedResponse] // cached responses to GET /pets/{petId}
	photoCache         *photoCache                        // cached files of photos
	basePath           string                             // the path component of the base URL
	commonHeaders      http.Header                        // sent with every response
	deprecationHeaders http.Header                        // sent with every response from deprecatedOperation
	mcp                func() (*mcp.Handler, error)       // made for the first message of an assistant
	lifetime           context.Context                    // ends when the node starts to shut down
	stop               context.CancelFunc
	streamTiming       streamTiming
}

// New returns an API for the given configuration. It fails if the route table is broken.
func New(c Config) (*API, error) {
	router, err := newRouter(routes())
	if err != nil {
		return nil, err
	}
	if c.Limits == nil {
		c.Limits = web.NewLimits(0)
	}
	basePath := basePathOf(c.PublicURL)
	lifetime, stop := context.WithCancel(context.Background())
	a := &API{
		Config:             c,
		documents:          &documents{cached: map[documentKey]*web.StaticFile{}},
		docs:               newDocs(c),
		router:             router,
		metrics:            newMetrics(c.Version, c.Service, routes(), c.Collectors...),
		accessLog:          &web.AccessLog{Log: c.Log, Lines: c.AccessLog, Redact: c.Service.Redact},
		pageCache:          newResponseCache(c.Service),
		petCache:           newResponseCache(c.Service),
		photoCache:         newPhotoCache(c.Service),
		basePath:           basePath,
		commonHeaders:      commonHeaders(c),
		deprecationHeaders: deprecationHeaders(basePath),
		lifetime:           lifetime,
		stop:               stop,
		streamTiming:       streamTiming{heartbeatInterval, web.StreamWriteTimeout},
	}
	a.mcp = sync.OnceValues(func() (*mcp.Handler, error) {
		return mcp.NewHandler(c.Version, inProcess{a}, func(err error) {
			c.Log.Error("tool of an assistant failed", "error", c.Service.Redact(err.Error()))
		})
	})
	return a, nil
}

// Stopping announces that the node is about to shut down. From then on, /readyz fails, so that load balancers send
// requests to other nodes. All event streams end, so that their clients reconnect to other nodes.
func (a *API) Stopping() { a.stop() }

func (a *API) isStopping() bool { return a.lifetime.Err() != nil }

// ServeHTTP serves one request. It counts and logs the request even if the handler panics.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := a.begin(w, r)
	defer a.end(x)
	x.err = a.serve(x)
}

// begin returns the exchange for a request. The caller must defer end.
func (a *API) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{limits: a.Limits, w: web.NewRecorder(w, r), r: r, id: web.NewRequestID(), start: time.Now()}
	w.Header()["X-Request-Id"] = []string{x.id}
	maps.Copy(w.Header(), a.commonHeaders)
	a.metrics.inFlight.Inc()
	return x
}

// end sends the error response if the request has failed, updates the metrics and writes the access log entry. It must be
// deferred itself, because it recovers a panic of the handler.
func (a *API) end(x *exchange) {
	outcome := web.EndOf(&x.w, x.r, x.err, recover(), x.sendError)
	a.metrics.inFlight.Dec()
	operation, path := unknownOperation, ""
	if x.route != nil {
		operation, path = x.route.operation, x.route.path
	}
	end := time.Now()
	took := end.Sub(x.start)
	a.metrics.count(operation, outcome.Status, took, x.streamed)
	a.accessLog.Write(web.Entry{
		Outcome: outcome, ID: x.id, Operation: operation, Route: path, Request: x.r, Response: &x.w,
		Principal: x.principal, End: end, Took: took,
		Routine:  outcome.Status < 400 && x.route != nil && !x.isCall(),
		Stopping: a.isStopping(),
	})
	outcome.Abort()
}

// serve handles one request: routing, authentication, rate limiting, authorization and execution.
func (a *API) serve(x *exchange) error {
	e := a.findRoute(x)
	if x.r.Method == http.MethodOptions {
		return a.options(x, e)
	}
	if err := a.admit(x, e); err != nil {
		return err
	}
	if expect := x.r.Header.Get("Expect"); expect != "" && !strings.EqualFold(expect, "100-continue") {
		return errUnknownExpectation() // over HTTP/1, net/http itself refuses such a request
	}
	if e == nil {
		return errNoSuchPath()
	}
	if x.route == nil {
		x.w.Header().Set("Allow", e.allow)
		return errMethodNotAllowed(a.accessLog.Printable(x.r.Method), e.allow)
	}
	if err := a.authorize(x); err != nil {
		return err
	}
	return a.execute(x)
}

// findRoute finds the endpoint and the route for a request and sets the headers that depend on them. It returns
// nil if the path is unknown.
func (a *API) findRoute(x *exchange) *endpoint {
	e, params := a.router.find(x.r.URL)
	a.allowOrigin(x)
	if e != nil {
		x.route, x.params = e.routes[x.r.Method], params
	}
	if x.route != nil && x.route.operation == deprecatedOperation {
		maps.Copy(x.w.Header(), a.deprecationHeaders)
	}
	return e
}

// execute reads the request's body and calls the route's handler. It refuses the request if too many requests are in
// progress.
func (a *API) execute(x *exchange) error {
	if x.route.operation == importOperation {
		slot, err := x.acquire(admission.Imports)
		if err != nil {
			return err
		}
		defer slot.Release()
	}
	if x.route.operation == addPhotoOperation {
		if err := a.checkPhotoRoom(x); err != nil {
			return err
		}
	}
	if x.route.body != nil {
		slot, err := x.readBody()
		if err != nil {
			return err
		}
		defer slot.Release()
	}
	if x.route.operation == addPhotoOperation {
		defer x.limits.ReservePhotoMemory(int64(len(x.body)))()
	}
	if x.isLimited() {
		var err error
		if x.inFlight, err = x.acquire(admission.Requests); err != nil {
			return err
		}
		defer x.inFlight.Release()
	}
	if err := x.readIdempotencyKey(); err != nil {
		return err
	}
	if err := x.route.handle(a, x); err != nil {
		return a.replayInsteadOf(err, x)
	}
	return nil
}
