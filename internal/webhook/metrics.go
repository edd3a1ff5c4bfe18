package webhook

import (
	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/shop"
)

// metrics holds the Prometheus metrics about deliveries.
type metrics struct {
	outcomes *prometheus.CounterVec
	duration prometheus.Histogram
	inFlight prometheus.Gauge
	behind   prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "animalstore_webhook_deliveries_total",
			Help: "Delivery attempts by outcome: succeeded; retry (failed, will be retried); failed (permanently); lost (result not recorded in time, message is sent again).",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "animalstore_webhook_attempt_duration_seconds",
			Help:    "Duration of delivery attempts, from connecting to the end of the response.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "animalstore_webhook_attempts_in_flight",
			Help: "Delivery attempts in flight.",
		}),
		behind: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "animalstore_webhook_events_behind",
			Help: "Events that the webhook that is most behind has not been sent yet; up to 1,000 in normal operation.",
		}),
	}
	for _, outcome := range []shop.Outcome{shop.OutcomeSucceeded, shop.OutcomeRetry, shop.OutcomeFailed, shop.OutcomeLost} {
		// The counter is exported as 0 from the start, so that the first attempt with this outcome counts as
		// an increase.
		m.outcomes.WithLabelValues(string(outcome))
	}
	return m
}

func (m *metrics) count(outcome shop.Outcome) { m.outcomes.WithLabelValues(string(outcome)).Inc() }

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.outcomes, m.duration, m.inFlight, m.behind}
}
