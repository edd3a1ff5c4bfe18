package cli

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/httpapi"
	"animalstore/internal/server"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
	"animalstore/internal/version"
	"animalstore/internal/webhook"
)

// serveCommand runs the service until it is interrupted.
type serveCommand struct {
	Addr                string        `env:"ANIMALSTORE_ADDR" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks a free port (default ${default})."`
	TLSCert             string        `name:"tls-cert" env:"ANIMALSTORE_TLS_CERT" placeholder:"FILE" help:"Serve HTTPS with this certificate chain (PEM); reloaded when the file changes."`
	TLSKey              string        `name:"tls-key" env:"ANIMALSTORE_TLS_KEY" placeholder:"FILE" help:"File with the private key of the certificate (PEM)."`
	ACME                acmeFlags     `embed:"" prefix:"acme-"`
	MaxConnections      int           `name:"max-connections" env:"ANIMALSTORE_MAX_CONNECTIONS" default:"1000" placeholder:"N" help:"Maximum number of open connections (default ${default})."`
	Database            string        `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"DATABASE" help:"Database: a file, created if missing, or a postgres:// URL, which several nodes may share (default ${default})."`
	Environment         string        `env:"ANIMALSTORE_ENVIRONMENT" default:"production" enum:"production,staging" placeholder:"NAME" help:"production or staging; cannot be changed once the database exists (default ${default})."`
	PublicURL           string        `name:"public-url" env:"ANIMALSTORE_PUBLIC_URL" placeholder:"URL" help:"Base URL that clients use, ending in /v1; set it behind a proxy (default: taken from each request)."`
	StagingURL          string        `name:"staging-url" env:"ANIMALSTORE_STAGING_URL" placeholder:"URL" help:"Base URL of the staging deployment, ending in /v1, to list in the OpenAPI document."`
	APIKeyFile          string        `name:"api-key-file" placeholder:"FILE" help:"File with an admin key of at least 16 characters; or set $$ANIMALSTORE_API_KEY to the key itself."`
	Categories          string        `env:"ANIMALSTORE_CATEGORIES" default:"open" enum:"open,known" placeholder:"RULE" help:"open: the category of a new animal is created if missing; known: it must exist (default ${default})."`
	OrderHold           time.Duration `env:"ANIMALSTORE_ORDER_HOLD" default:"72h" placeholder:"DURATION" help:"How long a placed order holds its animal (default ${default})."`
	TimeZone            string        `name:"time-zone" env:"ANIMALSTORE_TIME_ZONE" default:"local" placeholder:"ZONE" help:"Time zone of the shop, such as Europe/Berlin, which decides what \"today\" means on the staff pages, unless the store itself names one (default ${default}: that of this machine)."`
	RateLimit           string        `env:"ANIMALSTORE_RATE_LIMIT" default:"off" placeholder:"N" help:"Requests per second for each key, with bursts of twice that (default ${default})."`
	CORSOrigin          []string      `name:"cors-origin" env:"ANIMALSTORE_CORS_ORIGIN" placeholder:"ORIGIN" help:"Origins whose pages may call the API from a browser; * allows any."`
	APIDate             string        `name:"api-date" env:"ANIMALSTORE_API_DATE" placeholder:"YYYY-MM-DD" help:"Serve the API as it will be on this date, to rehearse the removal of deprecated parts."`
	PhotoQuota          string        `name:"photo-quota" env:"ANIMALSTORE_PHOTO_QUOTA" default:"10GB" placeholder:"SIZE" help:"How much all photos together may take up in the database, such as 500MB or 2TB (default ${default})."`
	CustomerRetention   string        `name:"customer-retention" env:"ANIMALSTORE_CUSTOMER_RETENTION" default:"off" placeholder:"DURATION" help:"How long to keep the customer of an order after it was delivered or cancelled or has expired, such as 30d; off keeps it until somebody erases it (default ${default})."`
	EventRetention      string        `name:"event-retention" env:"ANIMALSTORE_EVENT_RETENTION" default:"off" placeholder:"DURATION" help:"How long to keep events, such as 720h; off keeps them forever (default ${default})."`
	WebhookAllowPrivate bool          `name:"webhook-allow-private" env:"ANIMALSTORE_WEBHOOK_ALLOW_PRIVATE" help:"Allow webhooks to private, loopback and link-local addresses."`
	Backup              backupFlags   `embed:"" prefix:"backup-"`
	Demo                bool          `env:"ANIMALSTORE_DEMO" help:"Fill an empty database with five weeks of made-up data; a database that was filled earlier is not changed."`
}

// drainDelay gives load balancers time to notice that one of several nodes is no longer ready.
const drainDelay = time.Second

// backgroundLevel returns the level at which the log reports an error in background work. An exceeded deadline is
// only a warning, because it is normal under load, and the work is tried again.
func backgroundLevel(err error) slog.Level {
	if errors.Is(err, context.DeadlineExceeded) {
		return slog.LevelWarn
	}
	return slog.LevelError
}

// Run serves the store until the context ends.
func (s *serveCommand) Run(ctx context.Context, t terminal) error {
	settings, err := s.settings()
	if err != nil {
		return err
	}
	photos := &photoMemory{keepPercent: os.Getenv("GOGC") != "", keepLimit: os.Getenv("GOMEMLIMIT") != ""}
	photos.add(0)
	settings.onPhotoMemory = photos.add
	if !photos.keepPercent {
		floor := make([]byte, heapFloor)
		defer runtime.KeepAlive(floor)
	}
	log := server.NewBufferedLog(t.err)
	defer log.Close()
	err = s.run(ctx, t, log, settings)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // the process was interrupted while it was starting
	}
	return err
}

func (s *serveCommand) run(ctx context.Context, t terminal, log *server.BufferedLog, settings settings) error {
	backups, unlockBackups, err := s.newScheduler(settings, log)
	if err != nil {
		return err
	}
	defer unlockBackups()
	throttle := &admission.LogThrottle{}
	reporter := func(message string) func(error) {
		return func(err error) {
			throttle.Log(log.Logger, admission.BackgroundErrors, backgroundLevel(err), message+err.Error(), message, "error", err)
		}
	}
	if settings.acme != nil {
		if err := prepareACME(settings.acme, log.Logger, throttle); err != nil {
			return err
		}
	}
	traces := openTraces(ctx, log.Logger, throttle)
	defer closeTraces(traces, log.Logger)
	store, err := sqlstore.Open(ctx, s.Database, sqlstore.Options{
		Exclusive:     true,
		OnLostHistory: func(err error) { log.Error("a database server was refused", "error", err) },
		Tracer:        traces.Tracer(),
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := store.Close(); err != nil {
			log.Error("cannot close the database", "error", err)
		}
	}()
	service, err := shop.Open(ctx, store, shop.Options{
		Environment:       shop.Environment(s.Environment),
		ConfiguredKey:     settings.configuredKey,
		KnownCategories:   s.Categories == "known",
		OrderHold:         s.OrderHold,
		Source:            s.PublicURL,
		PhotoQuota:        settings.photoQuota,
		EventRetention:    settings.eventRetention,
		CustomerRetention: settings.customerRetention,
		Location:          settings.location,
		Traceparent:       traces.Traceparent(),
		OnIndexing: func(p shop.IndexProgress) {
			log.Info("indexing animals, orders and categories for searches", "indexed", p.Indexed, "left", p.Left)
		},
	})
	if err != nil {
		return err
	}
	demoAnimals, err := s.fillDemo(ctx, store, log)
	if err != nil {
		return err
	}
	dispatcher := webhook.New(webhook.Config{
		Service:      service,
		Version:      version.Number,
		AllowPrivate: s.WebhookAllowPrivate,
		Report:       reporter("webhook delivery failed"),
		Tracer:       traces.Tracer(),
	})
	config := server.Config{MaxConnections: s.MaxConnections, Certificate: settings.certificate, Log: log.Logger}
	if sqlstore.IsURL(s.Database) {
		config.DrainDelay = drainDelay
	}
	httpServer := server.New(config)
	collectors := slices.Concat(store.Collectors(), dispatcher.Collectors(), httpServer.Collectors())
	if backups != nil {
		collectors = append(collectors, backups.Collectors()...)
	}
	handler, err := s.newHandler(service, store, log, settings, backups, collectors)
	if err != nil {
		return err
	}
	listener, err := listen(s.Addr)
	if err != nil {
		return err
	}
	log.Info("listening", "addr", listener.Addr().String(), "database", redact(s.Database), "environment", s.Environment,
		"version", version.Number, "tls", settings.certificate != nil, "time_zone", settings.location.String())
	url := localURL(listener.Addr(), settings.certificate)
	if settings.configuredKey == "" {
		if err := s.bootstrapKey(ctx, service, t, log.Logger, url, demoAnimals); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	if isTerminal(t.out) {
		if err := s.printAddress(t, url); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	var background sync.WaitGroup
	defer background.Wait()
	working, stopWork := context.WithCancel(context.Background()) // this context ends after the last request
	defer stopWork()
	// Deliveries, backups and certificate orders end with ctx, because other nodes or the next start can complete
	// them.
	interruptible, interrupt := context.WithCancel(ctx)
	defer interrupt()
	background.Go(func() { service.RunJobs(working, reporter("background job failed")) })
	background.Go(func() { dispatcher.Run(interruptible) })
	if backups != nil {
		background.Go(func() { backups.Run(interruptible) })
	}
	if settings.acme != nil {
		background.Go(func() { settings.acme.Run(interruptible) })
	}
	return httpServer.Run(ctx, listener, server.Handlers{
		Serve: traced(traces, handler), Refuse: traced(traces, http.HandlerFunc(handler.refuse)), Malformed: handler.api.Malformed,
		IsProbe: httpapi.IsProbe, Drain: handler.drain,
	})
}
