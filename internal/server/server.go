// Package server runs an HTTP server that limits connections, supports TLS and shuts down gracefully.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// These constants limit connections. Handlers set their own deadlines for request bodies and responses.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10 // net/http accepts 4 KiB more
)

// ShutdownTimeout is how long Run waits for requests to finish after it has stopped accepting new ones. It is
// longer than any deadline for a request body or a response.
const ShutdownTimeout = 90 * time.Second

// Config holds the settings for a Server.
type Config struct {
	MaxConnections int
	Certificate    *Certificate // nil to serve plain HTTP
	Log            *slog.Logger
	// DrainDelay is how long Run continues to accept requests after calling Drain, so that load balancers
	// notice that the server is stopping.
	DrainDelay time.Duration
}

// Handlers holds the functions that a Server calls. All fields are required.
type Handlers struct {
	// Serve responds to requests. Refuse responds instead of Serve if too many requests are in progress.
	Serve, Refuse http.Handler
	// Malformed responds to a request that net/http has refused without calling Serve, because it is not valid HTTP,
	// its headers are too large or its Expect header is unknown. r contains what is known about the request; its path
	// is not decoded. refusal is the response that net/http would have sent.
	Malformed func(w http.ResponseWriter, r *http.Request, refusal *http.Response)
	// IsProbe reports whether a request is a health check or reads the metrics. Probes are never refused.
	IsProbe func(*http.Request) bool
	// Drain is called when the server begins to stop.
	Drain func()
}

// Server is an HTTP server with a limited number of connections.
type Server struct {
	config   Config
	listener *limitListener
}

// New returns a server. Call Run to start it. New lowers the connection limit if the process cannot open that
// many files.
func New(config Config) *Server {
	limit := ConnectionLimit(config.MaxConnections)
	if limit < config.MaxConnections {
		config.Log.Warn("connection limit lowered to fit the open file limit", "wanted", config.MaxConnections, "connections", limit)
	}
	return &Server{config, newLimitListener(limit)}
}

// Collectors returns the Prometheus metrics about the connections and the certificate.
func (s *Server) Collectors() []prometheus.Collector {
	collectors := s.listener.collectors()
	if s.config.Certificate != nil {
		collectors = append(collectors, s.config.Certificate.collectors()...)
	}
	return collectors
}

// Run serves requests until the context ends. It then calls Drain, waits for DrainDelay, stops accepting
// requests and waits for those in progress. It fails if they do not finish within ShutdownTimeout.
func (s *Server) Run(ctx context.Context, listener net.Listener, handlers Handlers) error {
	log := s.config.Log
	s.listener.Listener = listener
	server := &http.Server{
		Handler:           s.listener.trackRequests(handlers),
		ConnContext:       s.listener.connContext,
		ConnState:         s.listener.connState,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// The handler responds to OPTIONS * as to any other request, so that the response has a request id
		// and is logged.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     newErrorLog(log),
		Protocols:                    new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			WriteByteTimeout:              writeByteTimeout,
			MaxConcurrentStreams:          maxStreamsPerConn,
			MaxReceiveBufferPerConnection: maxReceiveBuffer,
			MaxReceiveBufferPerStream:     maxReceiveBuffer,
		},
	}
	server.Protocols.SetHTTP1(true)
	var background sync.WaitGroup
	defer background.Wait()
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	ended := make(chan error, 1)
	plain := plainListener{s.listener, handlers.Malformed}
	if certificate := s.config.Certificate; certificate != nil {
		server.Protocols.SetUnencryptedHTTP2(true) // for an http2Conn; clients without TLS do not get here
		background.Go(func() { certificate.watch(watching, log) })
		secure := newTLSListener(plain, certificate.tlsConfig(), server.ErrorLog)
		defer secure.handshakes.Wait()
		background.Go(func() { ended <- server.Serve(secure) })
	} else {
		background.Go(func() { ended <- server.Serve(&plain) })
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping")
	// From now on, every response asks the client to close its connection. Otherwise, the server might close a
	// connection while a client is sending its next request, which would then get no response.
	s.listener.draining.Store(true)
	handlers.Drain()
	time.Sleep(s.config.DrainDelay)
	limit, cancel := context.WithTimeout(context.Background(), ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		return fmt.Errorf("some requests were aborted: %w", errors.Join(err, server.Close()))
	}
	log.Info("stopped")
	return nil
}
