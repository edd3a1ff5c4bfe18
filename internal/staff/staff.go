// Package staff serves the web pages for the shop's staff: the catalogue, the orders and, for administrators,
// keys and webhooks. It calls shop.Service and renders HTML. All routes are listed in routes.go.
package staff

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// Config holds the settings for the staff pages.
type Config struct {
	Service *shop.Service
	Log     *slog.Logger
	// PublicURL is the API's base URL as clients see it, ending in /v1. If it is empty, the Host header of
	// each request is used.
	PublicURL string
	// TLS is true if this process terminates TLS itself.
	TLS bool
	// Version is the version of the service, which the settings show.
	Version string
	// OnServer is true if the store is on a database server, which has its own backups.
	OnServer bool
	// Window responds to a request for a page of the shop window, whose path begins with /staff/window, as if the window were
	// on. It may be nil.
	Window func(http.ResponseWriter, *http.Request) error
	// Backups reports on the scheduled backups. It is nil if none are scheduled.
	Backups func() Backups
	// FillDemo fills an empty store with demo data. It is nil if that is not possible.
	FillDemo func(context.Context) error
	// Limits are the limits that the pages share with the API. If it is nil, the pages have their own.
	Limits *web.Limits
}

// Pages is the http.Handler for the staff pages.
type Pages struct {
	Config
	base      string // the prefix for every path, taken from the public URL
	secure    bool   // whether the session cookie is sent only over HTTPS
	mux       *http.ServeMux
	guarded   http.Handler // the mux behind the cross-origin check
	templates *templates
	files     *files
	icons     map[string]template.HTML
	durations *prometheus.HistogramVec
	log       *web.AccessLog
	running   context.Context // a context that ends when the node starts to shut down
	stop      context.CancelFunc
}

// New returns a handler for the staff pages. It fails if the public URL is invalid or an embedded template is
// broken.
func New(c Config) (*Pages, error) {
	public, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, err
	}
	files, err := newFiles()
	if err != nil {
		return nil, err
	}
	if c.Limits == nil {
		c.Limits = web.NewLimits(0)
	}
	running, stop := context.WithCancel(context.Background())
	p := &Pages{
		Config: c, base: strings.TrimSuffix(public.EscapedPath(), "/v1"), secure: c.TLS || public.Scheme == "https", files: files,
		mux: http.NewServeMux(), running: running, stop: stop, log: &web.AccessLog{Log: c.Log, Redact: c.Service.Redact},
		durations: newDurations(),
	}
	if p.icons, err = newIcons(p.staticURL("icons.svg")); err != nil {
		return nil, err
	}
	if p.templates, err = newTemplates(p); err != nil {
		return nil, err
	}
	for _, r := range routes() {
		p.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { p.serve(w, req, r) })
	}
	origins := http.NewCrossOriginProtection()
	if public.Host != "" { // behind a proxy, the Host header may differ from the public host
		if err := origins.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
			return nil, err
		}
	}
	origins.SetDenyHandler(http.HandlerFunc(p.refuseCrossOrigin))
	p.guarded = origins.Handler(p.mux)
	return p, nil
}

// Serves reports whether a path belongs to the staff pages.
func Serves(path string) bool {
	return path == "/" || path == "/staff" || strings.HasPrefix(path, "/staff/")
}

// Stopping ends the live streams, so that browsers reconnect to another node.
func (p *Pages) Stopping() { p.stop() }

// ServeHTTP sets the security headers and handles one request.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.setHeaders(w.Header(), r)
	if !p.hasRoute(r, r.Method) {
		p.serve(w, r, route{page: "none", scope: anyone, handle: func(_ *Pages, x *exchange) error {
			x.identify() // a signed-in user still sees the navigation on the error page
			return p.noRouteError(r)
		}})
		return
	}
	p.guarded.ServeHTTP(w, r)
}

// refuseCrossOrigin rejects a request that another site made the browser send.
func (p *Pages) refuseCrossOrigin(w http.ResponseWriter, r *http.Request) {
	p.serve(w, r, route{page: "none", scope: anyone, handle: func(*Pages, *exchange) error {
		return shop.Errorf(shop.InsufficientScope, "This request came from another site; open the page here and try again.")
	}})
}

// serve handles a request with the given route, logs it and records its duration.
func (p *Pages) serve(w http.ResponseWriter, r *http.Request, to route) {
	recorder := web.NewRecorder(w, r)
	x := &exchange{Pages: p, w: &recorder, r: r, route: to, id: web.NewRequestID(), start: time.Now()}
	w.Header().Set("X-Request-Id", x.id)
	defer x.end()
	x.err = x.handle()
}

// end shows the error page if the request has failed, logs the request and records its duration. It must be deferred
// itself, because it recovers a panic of the handler.
func (x *exchange) end() {
	outcome := web.EndOf(x.w, x.r, x.err, recover(), x.showError)
	end, page := time.Now(), x.route.page
	took := end.Sub(x.start)
	if !x.streamed {
		x.durations.WithLabelValues(page, strconv.Itoa(outcome.Status)).Observe(took.Seconds())
	}
	x.log.Write(web.Entry{
		Outcome: outcome, ID: x.id, Operation: "staff." + page, Request: x.r, Response: x.w,
		Principal: x.principal, End: end, Took: took,
		Routine:  page == "static" || page == "live",
		Stopping: x.running.Err() != nil,
	})
	outcome.Abort()
}

// handle checks who sent the request and whether that user may send it, reads the form and calls the route's handler.
// It does not hold a slot while it waits for the browser to send the form, so that half-sent forms cannot make the
// pages busy.
func (x *exchange) handle() error {
	defer x.releaseLimits()
	defer func() { x.answer.slot.Release() }()
	if x.route.scope != anyone {
		if err := x.authorize(); err != nil {
			return err
		}
	}
	if x.r.Method == http.MethodPost {
		if x.route.page == "import-file" || x.route.page == "import-left" || x.route.page == photoAdd {
			return x.route.handle(x.Pages, x) // these handlers read the form themselves and then acquire a slot
		}
		slot, err := x.readForm()
		if err != nil {
			return err
		}
		defer slot.Release()
	}
	if err := x.acquireSlot(); err != nil {
		return err
	}
	return x.route.handle(x.Pages, x)
}
