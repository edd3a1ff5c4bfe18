package shop

import (
	"context"
	"sync/atomic"
	"time"

	"animalstore/internal/singleflight"
)

// DayStats is the number of animals added and the number of animals sold on one day in the shop's time zone.
type DayStats struct {
	Day      Date
	Arrivals int64
	Sales    int64
}

// StatsPeriod is the length of the period that a PeriodStats covers. In every time zone in use today, a day consists
// of whole periods.
const StatsPeriod = 15 * time.Minute

// PeriodStats is the number of animals added and the number of animals sold in one StatsPeriod.
type PeriodStats struct {
	Begin    time.Time // a multiple of StatsPeriod in UTC
	Arrivals int64
	Sales    int64
}

const (
	// statsDays is the number of days that DailyStats covers.
	statsDays = 30
	// statsBatch is the maximum number of events counted in one transaction, so that no transaction takes
	// a long time.
	statsBatch = 50_000
	// statsMaxEvents is the maximum number of events that one call of CountDays counts. It keeps CountDays short in
	// a store with many events.
	statsMaxEvents = 2_000_000
	// statsMaxNew is the maximum number of events that DailyStats counts while a page is waiting for it.
	statsMaxNew = 10_000
)

// statsCache caches the numbers of arrivals and sales, which take a long time to count.
type statsCache struct {
	counts    singleflight.Group[struct{}, []DayStats]
	daily     map[Date]DayStats // used only by the computation in counts
	lastDaily atomic.Int64      // all events up to this position have been counted; 0 before the first count
	wake      chan struct{}     // a value in this channel starts a count in the background
}

func newStatsCache() *statsCache {
	cache := &statsCache{wake: make(chan struct{}, 1)}
	cache.wake <- struct{}{} // start the first count with the node instead of with the first page
	return cache
}

// DailyStats returns the number of arrivals and sales on each of the last statsDays days, including today,
// oldest day first. It counts each event only once and caches the sums. If more than statsMaxNew events have not been
// counted, it returns nil, and a background job counts them.
func (s *Service) DailyStats(ctx context.Context) ([]DayStats, error) {
	last, err := s.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	if last-s.stats.countedUpTo(last) > statsMaxNew {
		select {
		case s.stats.wake <- struct{}{}:
		default: // a count has already been requested
		}
		return nil, nil
	}
	// All pages that are opened at once share one count. It goes on if this request ends, because others may be waiting
	// for it, and it does not count as a heavy read of this request's API key.
	return s.shareCount(ctx, context.WithoutCancel(ctx))
}

// CountDays counts the arrivals and sales that have not been counted yet. Unlike DailyStats, it stops if the context
// ends, because it may take many seconds.
func (s *Service) CountDays(ctx context.Context) error {
	_, err := s.shareCount(ctx, ctx)
	return err
}

// shareCount returns the result of a count that began after the call. It waits until ctx ends, and if it starts a
// count itself, the count runs with counting.
func (s *Service) shareCount(ctx, counting context.Context) ([]DayStats, error) {
	counts := &s.stats.counts
	days, err := counts.Do(ctx, struct{}{}, counts.Begun(), nil, func() ([]DayStats, error) { return s.countDays(counting) })
	if err != nil && ctx.Err() != nil {
		err = UnavailableError(ctx.Err())
	}
	return days, err
}

// keepDaysCounted calls CountDays at the start, whenever DailyStats needs it, and once a minute, until the context
// ends. It passes errors to report.
func (s *Service) keepDaysCounted(ctx context.Context, report func(error)) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-s.stats.wake:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := s.CountDays(ctx); err != nil && ctx.Err() == nil {
			report(err)
		}
	}
}

// countedUpTo returns the position up to which all events have been counted. It returns 0 before the first count. It
// also returns 0 if the counted events are after the last event, which means that the store was restored from a
// backup.
func (c *statsCache) countedUpTo(last int64) int64 {
	if counted := c.lastDaily.Load(); counted <= last {
		return counted
	}
	return 0
}

func (s *Service) countDays(ctx context.Context) ([]DayStats, error) {
	last, err := s.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	first := s.Today().Add(1 - statsDays)
	cache := s.stats
	from := cache.countedUpTo(last)
	if from == 0 {
		cache.daily = map[Date]DayStats{}
	}
	counted, err := s.countBack(ctx, first, max(from, last-statsMaxEvents), last)
	if err != nil {
		return nil, err
	}
	for _, count := range counted {
		day := s.DateOf(count.Begin)
		sum := cache.daily[day]
		cache.daily[day] = DayStats{day, sum.Arrivals + count.Arrivals, sum.Sales + count.Sales}
	}
	cache.lastDaily.Store(last)
	days := make([]DayStats, statsDays)
	for i := range days {
		day := first.Add(i)
		days[i] = DayStats{day, cache.daily[day].Arrivals, cache.daily[day].Sales}
	}
	return days, nil
}

// countBack counts the arrivals and sales in the events whose position is greater than from and at most to.
// It counts in batches, from the newest events to the oldest, and stops early if it finds events from before
// the first day.
func (s *Service) countBack(ctx context.Context, first Date, from, to int64) ([]PeriodStats, error) {
	var counted []PeriodStats
	for to > from {
		after := max(from, to-statsBatch)
		batch, err := read(ctx, s, Reading{Heavy: true}, func(tx ReadTx) ([]PeriodStats, error) { return tx.PeriodStats(after, to) })
		if err != nil {
			return nil, err
		}
		counted = append(counted, batch...)
		if len(batch) > 0 && s.DateOf(batch[0].Begin).Before(first) {
			break
		}
		to = after
	}
	return counted, nil
}
