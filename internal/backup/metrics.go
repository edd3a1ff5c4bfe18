package backup

import "github.com/prometheus/client_golang/prometheus"

func newFailures() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "animalstore_backup_failures_total",
		Help: "Scheduled backups that failed.",
	})
}

// Collectors returns the Prometheus metrics about scheduled backups.
func (s *Scheduler) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "animalstore_backup_" + name, Help: help}, func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return value()
		})
	}
	return []prometheus.Collector{
		s.failures,
		gauge("interval_seconds", "Interval between scheduled backups.",
			func() float64 { return s.config.Interval.Seconds() }),
		gauge("last_success_timestamp_seconds", "Time of the newest good backup in the folder; 0 if there is none.", func() float64 {
			if s.newest.Path == "" {
				return 0
			}
			return float64(s.newest.Time.Unix())
		}),
		gauge("last_size_bytes", "Size of the newest good backup in the folder.",
			func() float64 { return float64(s.newest.Size) }),
		gauge("last_duration_seconds", "Duration of the last backup, including its check; 0 until this process has made one.",
			func() float64 { return s.took.Seconds() }),
		gauge("last_findings", "Inconsistencies of the store that the check of the last backup found.",
			func() float64 { return float64(s.found) }),
	}
}
