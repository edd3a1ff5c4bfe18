// Package window serves the shop window: public pages and feeds of the animals that the shop has published. They need no
// key and change nothing. It calls shop.Service, which returns only what everybody may see.
package window

import (
	"context"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// Config holds the settings for the window.
type Config struct {
	Service *shop.Service
	Log     *slog.Logger
	// AccessLog receives the log lines for successful requests, one per Write. If it is nil, these lines go to Log.
	AccessLog io.Writer
	// PublicURL is the API's base URL as clients see it, ending in /v1. If it is empty, there are no absolute URLs, because
	// the Host header of a request must not get into a cache.
	PublicURL string
	// TLS is true if this process terminates TLS itself.
	TLS bool
	// Limits are the limits of the node. If it is nil, the window has its own.
	Limits *web.Limits
}

// Pages is the http.Handler for the window.
type Pages struct {
	Config
	base      string // the prefix for every path, taken from the public URL
	site      string // what makes a path with this prefix an absolute URL, or "" if there is no public URL
	templates *template.Template
	files     *files
	cache     *web.ResponseCache[*response]
	durations *prometheus.HistogramVec
	log       *web.AccessLog
}

// maxCacheBytes is the maximum size of the cache of responses.
const maxCacheBytes = 2 << 20

// New returns a handler for the window. It fails if the public URL is invalid or an embedded template is broken.
func New(c Config) (*Pages, error) {
	public, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, err
	}
	if c.Limits == nil {
		c.Limits = web.NewLimits(0)
	}
	p := &Pages{
		Config: c, base: strings.TrimSuffix(public.EscapedPath(), "/v1"), cache: web.NewResponseCache[*response](c.Service, maxCacheBytes, maxCacheBytes),
		log: &web.AccessLog{Log: c.Log, Lines: c.AccessLog, Redact: c.Service.Redact}, durations: newDurations(),
	}
	if public.Host != "" {
		p.site = public.Scheme + "://" + public.Host
	}
	if p.files, err = newFiles(); err != nil {
		return nil, err
	}
	p.templates, err = newTemplates()
	return p, err
}

// root is the path of the first page. All paths of the window begin with it.
const root = "/window"

// Serves reports whether a path belongs to the window.
func Serves(path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// exchange is one request and its response.
type exchange struct {
	*Pages
	w       *web.Recorder
	r       *http.Request
	path    string // of the page, without the prefix of a preview
	prefix  string // before the paths of the window in links: "/staff" in a preview
	preview bool   // whether a user of the staff pages sees the window as it would be if it were on
	name    string // of the page in the log and the metrics
	slot    admission.Slot
}

// ServeHTTP handles one request.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.serve(w, r, (*exchange).handle)
}

// Refuse rejects a request because the server has too many requests in progress.
func (p *Pages) Refuse(w http.ResponseWriter, r *http.Request) {
	p.serve(w, r, func(x *exchange) error {
		x.setHeaders()
		x.find() // errors have the form that the path asks for
		return errBusy()
	})
}

func errBusy() error {
	return shop.Errorf(shop.Unavailable, "Too many people are looking at once; try again in a moment.")
}

func (p *Pages) serve(w http.ResponseWriter, r *http.Request, handle func(*exchange) error) {
	recorder := web.NewRecorder(w, r)
	x := &exchange{Pages: p, w: &recorder, r: r, path: r.URL.Path, name: "none"}
	id, start := web.NewRequestID(), time.Now()
	w.Header()["X-Request-Id"] = []string{id}
	var err error
	defer func() {
		outcome := web.EndOf(x.w, r, err, recover(), x.sendError)
		x.slot.Release()
		end := time.Now()
		took := end.Sub(start)
		p.durations.WithLabelValues(x.name, strconv.Itoa(outcome.Status)).Observe(took.Seconds())
		p.log.Write(web.Entry{
			Outcome: outcome, ID: id, Operation: "window." + x.name, Request: r, Response: x.w, End: end, Took: took, Routine: x.name == "static",
		})
		outcome.Abort()
	}()
	err = handle(x)
}

// handle finds the page that a request asks for. While the window is off, there is none.
func (x *exchange) handle() (err error) {
	x.setHeaders()
	show, found := x.find()
	if x.slot, err = x.Limits.Acquire(x.r.Context(), admission.WindowRequests, shop.Principal{}); err != nil {
		return errBusy()
	}
	if on, err := x.isOn(); err != nil || !on {
		if err == nil {
			err = errNoPage()
		}
		return err
	}
	if !found {
		return errNoPage()
	}
	switch x.r.Method {
	case http.MethodGet, http.MethodHead:
		return show()
	case http.MethodOptions:
		x.w.Header().Set("Allow", allowed)
		x.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	x.w.Header().Set("Allow", allowed)
	return shop.Errorf(shop.MethodNotAllowed, "This address can only be read; it accepts %s.", allowed)
}

const allowed = "GET, HEAD, OPTIONS"

func errNoPage() error { return shop.Errorf(shop.NotFound, "There is no page at this address.") }

// find returns the function that responds to requests for the path.
func (x *exchange) find() (show func() error, found bool) {
	switch rest := strings.TrimPrefix(x.path, root); rest {
	case "":
		x.name, show = "list", x.showList
	case "/":
		x.name, show = "root", x.redirectToRoot
	case "/animals.json":
		x.name, show = "json", x.sendJSON
		x.w.Header()["Access-Control-Allow-Origin"] = anyOrigin
		x.w.Header()["Access-Control-Expose-Headers"] = exposedHeaders
	case "/feed.xml":
		x.name, show = "feed", x.sendFeed
	case "/sitemap.xml":
		x.name, show = "sitemap", x.sendSitemap
	default:
		if id, isPet := strings.CutPrefix(rest, "/pets/"); isPet {
			x.name, show = "pet", func() error { return x.showPet(id) }
		} else if file, isStatic := strings.CutPrefix(rest, "/static/"); isStatic {
			x.name, show = "static", func() error { return x.sendStatic(file) }
		}
	}
	if show == nil || x.site == "" && (x.name == "feed" || x.name == "sitemap") {
		return nil, false
	}
	return show, true
}

func (x *exchange) redirectToRoot() error {
	x.w.Header().Set("Location", x.at(root))
	x.w.Header()["Cache-Control"] = noCache
	x.w.WriteHeader(http.StatusPermanentRedirect)
	return nil
}

// at prepends the prefix of this request to a path of the window.
func (x *exchange) at(path string) string { return x.base + x.prefix + path }

// absolute returns the absolute URL of a path, or "" if there is no public URL.
func (x *exchange) absolute(path string) string {
	if x.site == "" {
		return ""
	}
	return x.site + x.base + path
}

// isOn reports whether the window is switched on. While this node believes that it is, the read of a page finds out.
func (x *exchange) isOn() (bool, error) {
	if x.Service.CurrentSettings().Window.Enabled {
		return true, nil
	}
	r, err := x.cached("off", func(ctx context.Context, valid *shop.Validity) (*response, error) {
		on, err := x.Service.WindowIsOn(ctx, valid)
		return &response{on: on}, err
	})
	return err == nil && r.on, err
}

// cached returns a response from the cache, or reads the store.
func (x *exchange) cached(name string, load func(context.Context, *shop.Validity) (*response, error)) (*response, error) {
	if x.preview {
		return x.read(load, nil)
	}
	return x.cache.Get(x.r.Context(), 0, name, func(valid *shop.Validity) (*response, error) { return x.read(load, valid) })
}

// read reads the store when it is the turn of this request.
func (x *exchange) read(load func(context.Context, *shop.Validity) (*response, error), valid *shop.Validity) (*response, error) {
	slot, err := x.Limits.Acquire(x.r.Context(), admission.WindowReads, shop.Principal{})
	if err != nil {
		return nil, err
	}
	defer slot.Release()
	return load(x.r.Context(), valid)
}

// Collectors returns the Prometheus metrics about the window.
func (p *Pages) Collectors() []prometheus.Collector { return []prometheus.Collector{p.durations} }

// newDurations returns the histogram of the time that requests for the window take.
func newDurations() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "animalstore_window_request_duration_seconds",
		Help:    "Time to respond to a request for the shop window, by page and status.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
	}, []string{"page", "status"})
}
