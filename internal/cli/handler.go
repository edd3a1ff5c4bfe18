package cli

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/httpapi"
	"animalstore/internal/server"
	"animalstore/internal/shop"
	"animalstore/internal/staff"
	"animalstore/internal/version"
	"animalstore/internal/web"
)

// rootHandler sends each request to the staff pages or to the API. The API also responds to unknown paths.
type rootHandler struct {
	api   *httpapi.API
	pages *staff.Pages
}

func (s *serveCommand) newHandler(
	service *shop.Service, log *server.BufferedLog, settings settings, collectors []prometheus.Collector,
) (*rootHandler, error) {
	hasTLS := settings.certificate != nil
	limiter := web.NewRateLimiter(settings.rateLimit)
	limits := web.NewLimits()
	pages, err := staff.New(staff.Config{
		Service: service, Log: log.Logger, PublicURL: s.PublicURL, TLS: hasTLS, RateLimiter: limiter, Limits: limits,
	})
	if err != nil {
		return nil, err
	}
	api, err := httpapi.New(httpapi.Config{
		Service:        service,
		Log:            log.Logger,
		AccessLog:      log,
		PublicURL:      s.PublicURL,
		StagingURL:     s.StagingURL,
		Origins:        s.CORSOrigin,
		RateLimiter:    limiter,
		Limits:         limits,
		MaxKeyInFlight: keyShare(server.ConnectionLimit(s.MaxConnections)),
		Today:          settings.today,
		Version:        version.Number,
		TLS:            hasTLS,
		Collectors:     append(collectors, pages.Collectors()...),
	})
	if err != nil {
		return nil, err
	}
	return &rootHandler{api, pages}, nil
}

// keyShare returns how many requests of one API key may be in progress. The number is a third of the connections, so
// that one key cannot use nearly all of them. It is at least 16, for clients that send several requests at once.
func keyShare(connections int) int { return min(max(connections/3, 16), 333) }

func (h *rootHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if staff.Serves(r.URL.Path) {
		h.pages.ServeHTTP(w, r)
		return
	}
	h.api.ServeHTTP(w, r)
}

// refuse rejects a request because too many requests are in progress.
func (h *rootHandler) refuse(w http.ResponseWriter, r *http.Request) {
	if staff.Serves(r.URL.Path) {
		h.pages.Refuse(w, r)
		return
	}
	h.api.Refuse(w, r)
}

// drain makes the readiness check fail and ends event streams. It is called when this node is about to stop.
func (h *rootHandler) drain() {
	h.api.Stopping()
	h.pages.Stopping()
}
