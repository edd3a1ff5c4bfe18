package staff

import "github.com/prometheus/client_golang/prometheus"

// Collectors returns the Prometheus metrics about the staff pages.
func (p *Pages) Collectors() []prometheus.Collector { return []prometheus.Collector{p.durations} }

// newDurations returns the histogram of the time that requests for staff pages take.
func newDurations() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "animalstore_staff_request_duration_seconds",
		Help:    "Time to respond to a request for a staff page, by page and status.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
	}, []string{"page", "status"})
}
