package httpapi

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"animalstore/internal/shop"
)

// metrics holds the API's Prometheus metrics, which have a registry of their own.
type metrics struct {
	handler    http.Handler
	requests   *prometheus.CounterVec
	operations map[string]operationMetrics // never changed after newMetrics
	inFlight   prometheus.Gauge
	deprecated *prometheus.CounterVec
	streams    prometheus.Gauge
}

// operationMetrics are the metrics that nearly every request to one operation updates.
type operationMetrics struct {
	success  int // the usual status of a successful response
	requests prometheus.Counter
	duration prometheus.Observer
}

func newMetrics(version string, service *shop.Service, routes []route, more ...prometheus.Collector) *metrics {
	registry := prometheus.NewRegistry()
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "animalstore_http_request_duration_seconds",
		Help:    "Time from the request's headers to the end of the response, by operation.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"operation"})
	m := &metrics{
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_http_requests_total",
			Help: "Completed requests by operation and status.",
		}, []string{"operation", "status"}),
		operations: map[string]operationMetrics{},
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "animalstore_http_requests_in_flight",
			Help: "Requests in progress.",
		}),
		deprecated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_deprecated_calls_total",
			Help: "Requests to a deprecated operation by API key: the clients that still have to migrate.",
		}, []string{"operation", "key", "name"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "animalstore_event_streams",
			Help: "Open event streams.",
		}),
	}
	gauge := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	counter := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
	}
	gauge("animalstore_event_feed_lag_seconds",
		"Time since this node's event feed was last up to date; it grows while the store cannot be read.",
		func() float64 { _, lag := service.FeedState(); return lag.Seconds() })
	gauge("animalstore_event_feed_position", "The id of the newest event in this node's feed.",
		func() float64 { last, _ := service.FeedState(); return float64(last) })
	gauge("animalstore_heavy_reads_running",
		"Searches, exports, counts and replays of events that are reading from the database.",
		func() float64 { running, _, _ := service.HeavyReads(); return float64(running) })
	gauge("animalstore_heavy_reads_waiting", "Searches, exports, counts and replays of events that wait for their turn.",
		func() float64 { _, waiting, _ := service.HeavyReads(); return float64(waiting) })
	counter("animalstore_heavy_reads_refused_total",
		"Searches, exports, counts and replays of events that were refused because too many were waiting.",
		func() float64 { _, _, refused := service.HeavyReads(); return float64(refused) })
	gauge("animalstore_search_unindexed",
		"Animals, orders and names of categories that a large indexing still has to index; 0 in normal operation.",
		func() float64 { return float64(service.IndexProgress().Left) })
	counter("animalstore_search_indexed_total",
		"New and changed animals, orders and names of categories that this node has indexed.",
		func() float64 { return float64(service.IndexProgress().Indexed) })
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "animalstore_build_info",
		Help: "Version of the program and of Go; always 1.",
	}, []string{"version", "go"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	registry.MustRegister(m.requests, duration, m.inFlight, m.deprecated, m.streams, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(more...)
	// All operations are exported from the start, so that the first request counts as an increase.
	for _, r := range append(routes, route{operation: unknownOperation, success: http.StatusNotFound}) {
		m.operations[r.operation] = operationMetrics{
			r.success, m.requests.WithLabelValues(r.operation, strconv.Itoa(r.success)), duration.WithLabelValues(r.operation),
		}
	}
	return m
}

// unknownOperation stands for the operation in the metrics and the log if the path or the method is unknown.
const unknownOperation = "none"

// count records a response. It does not record the duration of a stream, because that depends on the
// client.
func (m *metrics) count(operation string, status int, took time.Duration, streamed bool) {
	o := m.operations[operation]
	if status == o.success {
		o.requests.Inc()
	} else {
		m.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	}
	if !streamed {
		o.duration.Observe(took.Seconds())
	}
}

// countDeprecated counts a request to the deprecated operation, by API key.
func (m *metrics) countDeprecated(operation string, p shop.Principal) {
	m.deprecated.WithLabelValues(operation, p.Actor(), p.Name()).Inc()
}

func (a *API) getMetrics(x *exchange) error {
	a.metrics.handler.ServeHTTP(&x.w, x.r)
	return nil
}
