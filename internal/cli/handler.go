package cli

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/admission"
	"animalstore/internal/backup"
	"animalstore/internal/demo"
	"animalstore/internal/httpapi"
	"animalstore/internal/server"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
	"animalstore/internal/staff"
	"animalstore/internal/version"
	"animalstore/internal/web"
	"animalstore/internal/window"
)

// rootHandler sends each request to the staff pages, to the shop window or to the API. The API also responds to unknown
// paths.
type rootHandler struct {
	api    *httpapi.API
	pages  *staff.Pages
	window *window.Pages
}

func (s *serveCommand) newHandler(
	service *shop.Service, store *sqlstore.Store, log *server.BufferedLog, settings settings, backups *backup.Scheduler, collectors []prometheus.Collector,
) (*rootHandler, error) {
	hasTLS := settings.certificate != nil
	limits := web.NewLimits(settings.rateLimit)
	limits.OnPhotoMemory = settings.onPhotoMemory
	limits.Replace(admission.Requests, admission.Requests.Limit().ForConnections(server.ConnectionLimit(s.MaxConnections)))
	shown, err := window.New(window.Config{Service: service, Log: log.Logger, AccessLog: log, PublicURL: s.PublicURL, TLS: hasTLS, Limits: limits})
	if err != nil {
		return nil, err
	}
	config := staff.Config{
		Service: service, Log: log.Logger, PublicURL: s.PublicURL, TLS: hasTLS, Limits: limits, OnServer: sqlstore.IsURL(s.Database), Version: version.Number,
		Window: shown.Preview,
	}
	config.FillDemo = func(ctx context.Context) error {
		_, err := demo.Fill(ctx, store, s.Database)
		if errors.Is(err, demo.ErrNotEmpty) {
			err = shop.Errorf(shop.ValidationFailed, "The store is not empty any more, so it was not filled with demo data.")
		}
		return err
	}
	if backups != nil {
		config.Backups = func() staff.Backups {
			last, problems := backups.Newest()
			return staff.Backups{Last: last, Every: settings.backupInterval, Problems: problems}
		}
	}
	pages, err := staff.New(config)
	if err != nil {
		return nil, err
	}
	api, err := httpapi.New(httpapi.Config{
		Service:    service,
		Log:        log.Logger,
		AccessLog:  log,
		PublicURL:  s.PublicURL,
		StagingURL: s.StagingURL,
		Origins:    s.CORSOrigin,
		Limits:     limits,
		Today:      settings.today,
		Version:    version.Number,
		TLS:        hasTLS,
		Collectors: slices.Concat(collectors, pages.Collectors(), shown.Collectors()),
	})
	if err != nil {
		return nil, err
	}
	return &rootHandler{api, pages, shown}, nil
}

func (h *rootHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case staff.Serves(path):
		h.pages.ServeHTTP(w, r)
	case window.Serves(path):
		h.window.ServeHTTP(w, r)
	default:
		h.api.ServeHTTP(w, r)
	}
}

// refuse rejects a request because too many requests are in progress.
func (h *rootHandler) refuse(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case staff.Serves(path):
		h.pages.Refuse(w, r)
	case window.Serves(path):
		h.window.Refuse(w, r)
	default:
		h.api.Refuse(w, r)
	}
}

// drain makes the readiness check fail and ends event streams. It is called when this node is about to stop.
func (h *rootHandler) drain() {
	h.api.Stopping()
	h.pages.Stopping()
}
