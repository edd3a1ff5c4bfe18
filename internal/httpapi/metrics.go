package httpapi

import (
	"maps"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"animalstore/internal/shop"
)

// metrics are what an operator watches. They have a registry of their own: nothing is global.
type metrics struct {
	handler    http.Handler
	requests   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	inFlight   atomic.Int64
	deprecated *prometheus.CounterVec
	streams    prometheus.Gauge
	known      found[counted, counters]
	callers    found[caller, prometheus.Counter]
}

func newMetrics(version string, service *shop.Service, more ...prometheus.Collector) *metrics {
	registry := prometheus.NewRegistry()
	m := &metrics{
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_http_requests_total",
			Help: "Requests answered, by operation and status.",
		}, []string{"operation", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "animalstore_http_request_duration_seconds",
			Help:    "Time from the request's headers to the end of its answer, by operation.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation"}),
		deprecated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_deprecated_calls_total",
			Help: "Calls of an operation that will be removed, by key: who still has to move.",
		}, []string{"operation", "key", "name"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "animalstore_event_streams",
			Help: "Clients that follow the events.",
		}),
	}
	inFlight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_http_requests_in_flight",
		Help: "Requests that are being answered.",
	}, func() float64 { return float64(m.inFlight.Load()) })
	lag := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_event_feed_lag_seconds",
		Help: "How long ago this node's feed had every event that there was; it grows while the store cannot be read.",
	}, func() float64 {
		_, lag := service.FeedState()
		return lag.Seconds()
	})
	last := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "animalstore_event_feed_position",
		Help: "The id of the newest event that is there for this node's readers.",
	}, func() float64 {
		last, _ := service.FeedState()
		return float64(last)
	})
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "animalstore_build_info",
		Help: "What is running; always 1.",
	}, []string{"version", "go"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	registry.MustRegister(m.requests, m.duration, inFlight, m.deprecated, m.streams, lag, last, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(more...)
	return m
}

// count counts an answer. How long a stream lasted says nothing about how quick we are.
func (m *metrics) count(operation string, status int, took time.Duration, streamed bool) {
	c := m.known.get(counted{operation, status}, func(key counted) counters {
		return counters{m.requests.WithLabelValues(key.operation, strconv.Itoa(key.status)), m.duration.WithLabelValues(key.operation)}
	})
	c.requests.Inc()
	if !streamed {
		c.duration.Observe(took.Seconds())
	}
}

// countDeprecated counts a call of an operation that will be removed.
func (m *metrics) countDeprecated(operation string, p shop.Principal) {
	m.callers.get(caller{operation, p.Actor(), p.Name()}, func(key caller) prometheus.Counter {
		return m.deprecated.WithLabelValues(key.operation, key.key, key.name)
	}).Inc()
}

type caller struct{ operation, key, name string }

// found keeps metrics that were found by their labels: to look one up by them costs as much as a tenth of a short answer.
type found[K comparable, V any] struct {
	all atomic.Pointer[map[K]V] // is replaced, and never changed
	mu  sync.Mutex              // held while it is replaced
}

func (f *found[K, V]) get(key K, find func(K) V) V {
	if all := f.all.Load(); all != nil {
		if metric, ok := (*all)[key]; ok {
			return metric
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[K]V{}
	if before := f.all.Load(); before != nil {
		maps.Copy(all, *before)
	}
	all[key] = find(key)
	f.all.Store(&all)
	return all[key]
}

type counted struct {
	operation string
	status    int
}

type counters struct {
	requests prometheus.Counter
	duration prometheus.Observer
}
