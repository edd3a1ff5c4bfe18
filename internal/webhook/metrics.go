package webhook

import (
	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
)

// metrics are what an operator watches.
type metrics struct {
	outcomes *prometheus.CounterVec
	duration prometheus.Histogram
	inFlight prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_webhook_deliveries_total",
			Help: "Attempts to deliver a message, by outcome: succeeded; retry: failed, and will be tried again; failed: for good; lost: not noted in time, and sent again.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "animalstore_webhook_attempt_duration_seconds",
			Help:    "Time from the connection to the end of the receiver's answer.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "animalstore_webhook_attempts_in_flight",
			Help: "Messages that are on their way.",
		}),
	}
	for _, outcome := range []shop.Outcome{shop.OutcomeSucceeded, shop.OutcomeRetry, shop.OutcomeFailed, shop.OutcomeLost} {
		m.outcomes.WithLabelValues(string(outcome)) // shown from the beginning, so that a first one is an increase
	}
	return m
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.outcomes, m.duration, m.inFlight}
}
