// Package httpapi is the JSON interface: it turns requests into calls of the shop's service, and what comes back into
// answers. routes.go is its map.
package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
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
	// Lines takes the lines of requests that went well, each in one Write; nil: Log does.
	Lines io.Writer
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
	document *api.Document
	docs     *docs
	places   *places
	metrics  *metrics
	log      *web.AccessLog
	limits   *limits
	pages    *shelf   // of pages of animals
	pets     *shelf   // of single ones
	basePath string   // the path of the base address; without a public one it is the same for every request
	always   []header // of every answer
	notice   []header // of the removal, on every answer of the operation
	slots    *slots   // one is held while a request is answered
	streams  *streamPlaces
	imports  *slots          // one is held by each import
	exports  *slots          // and one by each export
	running  context.Context // ends when this node is about to stop
	stop     context.CancelFunc
	pace     streamPace
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
	places, err := newPlaces(routes())
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
		Config:   c,
		document: document,
		docs:     docs,
		places:   places,
		metrics:  newMetrics(c.Version, c.Service, c.Collectors...),
		log:      &web.AccessLog{Log: c.Log, Lines: c.Lines, Redact: c.Service.Redact},
		limits:   newLimits(c.RateLimit),
		pages:    newShelf(c.Service),
		pets:     newShelf(c.Service),
		basePath: basePath,
		always:   alwaysSent(c),
		notice:   noticeOfRemoval(basePath),
		slots:    &slots{most: int64(c.MaxInFlight)},
		streams:  newStreamPlaces(c.MaxStreams, c.MaxKeyStreams),
		imports:  &slots{most: importsAtOnce},
		exports:  &slots{most: exportsAtOnce},
		running:  running,
		stop:     stop,
		pace:     streamPace{heartbeat, streamPatience},
	}, nil
}

// Stopping makes /readyz say that this node will stop: whoever sends requests should send them to another one. Streams end,
// to go on there.
func (a *API) Stopping() { a.stop() }

func (a *API) isStopping() bool { return a.running.Err() != nil }

// ServeHTTP answers one request, whatever becomes of it.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{w: web.NewRecorder(w, r), r: r, id: web.NewRequestID(), start: time.Now()}
	w.Header().Set("X-Request-Id", c.id)
	setAll(w.Header(), a.always)
	a.metrics.inFlight.Inc()
	outcome := web.Guard(c.w, r, func() error { return a.serve(c) }, func(e *shop.Error) { a.sendError(c, e) })
	a.metrics.inFlight.Dec()
	a.note(c, outcome)
	outcome.Abort()
}

// note counts a request and writes its line into the log.
func (a *API) note(c *call, outcome web.Outcome) {
	operation := "none"
	if c.route != nil {
		operation = c.route.operation
	}
	end := time.Now()
	took := end.Sub(c.start)
	a.metrics.count(operation, outcome.Status, took, c.streamed)
	a.log.Write(web.Entry{
		Outcome: outcome, ID: c.id, Operation: operation, Request: c.r, Response: c.w, Principal: c.principal, End: end, Took: took,
		Routine:  outcome.Status < 400 && c.route != nil && !isOrBelow(c.r.URL.Path, "/v1"),
		Stopping: a.isStopping(),
	})
}

// serve is the way of a request: where does it go, who asks, may they, and then the work.
func (a *API) serve(c *call) error {
	place, params := a.places.find(c.r.URL.EscapedPath())
	a.allowOrigin(c)
	if c.r.Method == http.MethodOptions {
		return a.options(c, place)
	}
	if place != nil {
		c.route, c.params = place.routes[c.r.Method], params
	}
	if c.route != nil && c.route.operation == deprecatedOperation {
		setAll(c.w.Header(), a.notice)
	}
	// The key comes before everything else that could be said, also that there is no such path.
	if place != nil && !place.open() || place == nil && isOrBelow(c.r.URL.Path, "/v1") {
		if err := a.authenticate(c); err != nil {
			return err
		}
		if err := a.limits.take(c); err != nil {
			return err
		}
	}
	if place == nil {
		return errNoSuchPath()
	}
	if c.route == nil {
		c.w.Header().Set("Allow", place.allow)
		return shop.Errorf(shop.MethodNotAllowed, "This path does not take the method %s; it takes %s.", a.log.Printable(c.r.Method), place.allow)
	}
	if err := a.authorize(c); err != nil {
		return err
	}
	return a.work(c)
}

// work does what was asked for: with the body read, once where the client says so, and not more at a time than is good.
func (a *API) work(c *call) error {
	if c.route.operation == importOperation {
		if !a.imports.take() {
			return shop.Errorf(shop.Unavailable, "There are too many imports at once; try again shortly.")
		}
		defer a.imports.leave()
	}
	if c.route.body != nil {
		if err := c.readBody(); err != nil {
			return err
		}
	}
	if isOrBelow(c.route.path, "/v1") {
		if !a.slots.take() {
			return shop.Errorf(shop.Unavailable, "There are too many requests at once; try again shortly.")
		}
		c.slots = a.slots
		defer c.leave()
	}
	if replayed, err := a.replay(c); err != nil || replayed {
		return err
	}
	return c.route.handle(a, c)
}

func errNoSuchPath() error {
	return shop.Errorf(shop.NotFound, "There is nothing at this path; the operations are listed in /v1/openapi.json.")
}

// options says what a path takes; a browser asks this before it sends a page's request.
func (a *API) options(c *call, place *place) error {
	if c.r.URL.Path == "*" { // the service as a whole
		c.w.Header().Set("Allow", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")
		c.sendNothing()
		return nil
	}
	if place == nil {
		return errNoSuchPath()
	}
	c.w.Header().Set("Allow", place.allow)
	a.allowRequest(c, place)
	c.sendNothing()
	return nil
}

// slots are the places for what is done at once.
type slots struct {
	most  int64
	taken atomic.Int64
}

// take takes a place where there is one.
func (s *slots) take() bool {
	if s.taken.Add(1) > s.most {
		s.leave()
		return false
	}
	return true
}

func (s *slots) leave() { s.taken.Add(-1) }

// defaultInFlight is far more than the machine can work on at once, and few enough to be served within a second or so.
const defaultInFlight = 1024

func isOrBelow(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}
