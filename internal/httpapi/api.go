// Package httpapi is the JSON interface: it turns requests into calls of the shop's service, and what comes back into
// answers. routes.go is its map.
package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/api"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// Config is what the interface is told when it is made.
type Config struct {
	Service *shop.Service
	Log     *slog.Logger
	// AccessLog takes the lines of requests that went well, each in one Write; nil: Log does.
	AccessLog io.Writer
	// PublicURL is the base address as clients see it, ending in /v1; empty: as each request says.
	PublicURL string
	// StagingURL is listed beside it in the document; empty: none.
	StagingURL string
	// Origins are those whose pages may call from a browser; "*" is any.
	Origins []string
	// RateLimit is how many requests a second each key may make, with a burst of twice that; 0: any number.
	RateLimit int
	// MaxInFlight is how many requests may be answered at once; 0: as many as usually make sense.
	MaxInFlight int
	// MaxStreams is how many clients may follow the events at once, and MaxKeyStreams how many of them with the same key; 0: as
	// many as usually make sense.
	MaxStreams, MaxKeyStreams int
	// Today is the date on which the interface stands; nil: that of the clock.
	Today func() time.Time
	// TLS tells that the requests come over TLS, which ends here and not at a proxy.
	TLS bool
	// Version is shown in the metrics.
	Version string
	// Collectors are shown in the metrics, too: what others do beside the interface.
	Collectors []prometheus.Collector
}

// API answers the requests.
type API struct {
	Config
	document           *api.Document
	docs               *docs
	router             *router
	metrics            *metrics
	accessLog          *web.AccessLog
	rateLimiter        *rateLimiter
	pageCache          *responseCache // of pages of animals
	petCache           *responseCache // of single ones
	basePath           string         // the path of the base address; without a public one it is the same for every request
	commonHeaders      []header       // of every answer
	deprecationHeaders []header       // of the removal, on every answer of the operation
	inFlight           *semaphore     // one is held while a request is answered
	streams            *streamLimit
	imports            *semaphore      // one is held by each import
	exports            *semaphore      // and one by each export
	lifetime           context.Context // ends when this node is about to stop
	stop               context.CancelFunc
	streamTiming       streamTiming
}

// New makes the interface.
func New(c Config) (*API, error) {
	document, err := api.NewDocument()
	if err != nil {
		return nil, err
	}
	docs, err := newDocs(c)
	if err != nil {
		return nil, err
	}
	places, err := newRouter(routes())
	if err != nil {
		return nil, err
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = defaultInFlight
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = defaultStreams
	}
	if c.MaxKeyStreams == 0 {
		c.MaxKeyStreams = defaultKeyStreams
	}
	basePath := basePathOf(c.PublicURL)
	running, stop := context.WithCancel(context.Background())
	return &API{
		Config:             c,
		document:           document,
		docs:               docs,
		router:             places,
		metrics:            newMetrics(c.Version, c.Service, c.Collectors...),
		accessLog:          &web.AccessLog{Log: c.Log, Lines: c.AccessLog, Redact: c.Service.Redact},
		rateLimiter:        newRateLimiter(c.RateLimit),
		pageCache:          newResponseCache(c.Service),
		petCache:           newResponseCache(c.Service),
		basePath:           basePath,
		commonHeaders:      commonHeaders(c),
		deprecationHeaders: deprecationHeaders(basePath),
		inFlight:           &semaphore{capacity: int64(c.MaxInFlight)},
		streams:            newStreamLimit(c.MaxStreams, c.MaxKeyStreams),
		imports:            &semaphore{capacity: maxImports},
		exports:            &semaphore{capacity: maxExports},
		lifetime:           running,
		stop:               stop,
		streamTiming:       streamTiming{heartbeatInterval, streamWriteTimeout},
	}, nil
}

// Stopping makes /readyz say that this node will stop: whoever sends requests should send them to another one. Streams end,
// to go on there.
func (a *API) Stopping() { a.stop() }

func (a *API) isStopping() bool { return a.lifetime.Err() != nil }

// ServeHTTP answers one request, whatever becomes of it.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{w: web.NewRecorder(w, r), r: r, id: web.NewRequestID(), start: time.Now()}
	w.Header().Set("X-Request-Id", x.id)
	setHeaders(w.Header(), a.commonHeaders)
	a.metrics.inFlight.Inc()
	outcome := web.Guard(x.w, r, func() error { return a.serve(x) }, func(e *shop.Error) { a.sendError(x, e) })
	a.metrics.inFlight.Dec()
	a.finish(x, outcome)
	outcome.Abort()
}

// finish counts a request and writes its line into the log.
func (a *API) finish(x *exchange, outcome web.Outcome) {
	operation := "none"
	if x.route != nil {
		operation = x.route.operation
	}
	end := time.Now()
	took := end.Sub(x.start)
	a.metrics.count(operation, outcome.Status, took, x.streamed)
	a.accessLog.Write(web.Entry{
		Outcome: outcome, ID: x.id, Operation: operation, Request: x.r, Response: x.w, Principal: x.principal, End: end, Took: took,
		Routine:  outcome.Status < 400 && x.route != nil && !hasPathPrefix(x.r.URL.Path, "/v1"),
		Stopping: a.isStopping(),
	})
}

// serve is the way of a request: where does it go, who asks, may they, and then the work.
func (a *API) serve(x *exchange) error {
	place, params := a.router.find(x.r.URL.EscapedPath())
	a.allowOrigin(x)
	if x.r.Method == http.MethodOptions {
		return a.options(x, place)
	}
	if place != nil {
		x.route, x.params = place.routes[x.r.Method], params
	}
	if x.route != nil && x.route.operation == deprecatedOperation {
		setHeaders(x.w.Header(), a.deprecationHeaders)
	}
	// The key comes before everything else that could be said, also that there is no such path.
	if place != nil && !place.open() || place == nil && hasPathPrefix(x.r.URL.Path, "/v1") {
		if err := a.authenticate(x); err != nil {
			return err
		}
		if err := a.rateLimiter.check(x); err != nil {
			return err
		}
	}
	if place == nil {
		return errNoSuchPath()
	}
	if x.route == nil {
		x.w.Header().Set("Allow", place.allow)
		return shop.Errorf(shop.MethodNotAllowed, "This path does not take the method %s; it takes %s.", a.accessLog.Printable(x.r.Method), place.allow)
	}
	if err := a.authorize(x); err != nil {
		return err
	}
	return a.execute(x)
}

// execute does what was asked for: with the body read, once where the client says so, and not more at a time than is good.
func (a *API) execute(x *exchange) error {
	if x.route.operation == importOperation {
		if !a.imports.tryAcquire() {
			return shop.Errorf(shop.Unavailable, "There are too many imports at once; try again shortly.")
		}
		defer a.imports.release()
	}
	if x.route.body != nil {
		if err := x.readBody(); err != nil {
			return err
		}
	}
	if hasPathPrefix(x.route.path, "/v1") {
		if !a.inFlight.tryAcquire() {
			return shop.Errorf(shop.Unavailable, "There are too many requests at once; try again shortly.")
		}
		x.inFlight = a.inFlight
		defer x.release()
	}
	if replayed, err := a.replay(x); err != nil || replayed {
		return err
	}
	return x.route.handle(a, x)
}

func errNoSuchPath() error {
	return shop.Errorf(shop.NotFound, "There is nothing at this path; the operations are listed in /v1/openapi.json.")
}

// options says what a path takes; a browser asks this before it sends a page's request.
func (a *API) options(x *exchange, place *endpoint) error {
	if x.r.URL.Path == "*" { // the service as a whole
		x.w.Header().Set("Allow", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")
		x.sendNoContent()
		return nil
	}
	if place == nil {
		return errNoSuchPath()
	}
	x.w.Header().Set("Allow", place.allow)
	a.answerPreflight(x, place)
	x.sendNoContent()
	return nil
}

func hasPathPrefix(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}
