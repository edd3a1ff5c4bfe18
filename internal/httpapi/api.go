// Package httpapi is the JSON interface: it turns requests into calls of the shop's service, and what comes back into
// answers. routes.go is its map.
package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/api"
	"animalstore/internal/shop"
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
	limits   *limits
	pages    *shelf // of pages of animals
	pets     *shelf // of single ones
	ids      *requestIDs
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
		limits:   newLimits(c.RateLimit),
		pages:    newShelf(c.Service),
		pets:     newShelf(c.Service),
		ids:      newRequestIDs(),
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
	c := &call{r: r, id: a.ids.next(), start: time.Now()}
	c.w = &recorder{ResponseWriter: w, unread: r.ContentLength != 0 && r.ProtoMajor == 1}
	w.Header().Set("X-Request-Id", c.id)
	setAll(w.Header(), a.always)
	a.metrics.inFlight.Inc()
	err := a.guard(c)
	a.metrics.inFlight.Dec()
	end := time.Now()
	a.note(c, end, end.Sub(c.start), err)
	if c.cut {
		panic(http.ErrAbortHandler) // the answer had begun: the client must not take it for whole
	}
}

// guard answers a request; what fails or panics on the way becomes an error's answer. It returns the error.
func (a *API) guard(c *call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			c.stack = stack()
			c.cut = c.w.status != 0 || p == http.ErrAbortHandler
		}
		if err != nil && !c.cut {
			a.sendError(c, shop.AsError(err))
		}
	}()
	return a.serve(c)
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
		return shop.Errorf(shop.MethodNotAllowed, "This path does not take the method %s; it takes %s.", a.printable(c.r.Method), place.allow)
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
