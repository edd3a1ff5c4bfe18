package shop

import (
	"context"
	"time"
)

// Inventory is the number of animals with each status. Unspecified is the number of animals whose status was
// never set.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"`
}

// Inventory returns the number of animals with each status.
func (s *Service) Inventory(ctx context.Context) (Inventory, error) {
	return readCurrent(WithSingleQuery(ctx), s, func(tx ReadTx) (Inventory, error) { return tx.Inventory() })
}

// Total returns the number of animals with any status.
func (i Inventory) Total() int64 { return i.Available + i.Pending + i.Sold + i.Unspecified }

// DayStats is the number of animals added and the number of animals sold on one day in the shop's time zone.
type DayStats struct {
	Day      Date
	Arrivals int64
	Sales    int64
}

// StatsPeriod is the length of a PeriodStats. In every time zone of our days, a day consists of whole periods.
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
	// statsMaxEvents is the maximum number of events that one call of DailyStats counts. It keeps
	// DailyStats fast in a store with many events.
	statsMaxEvents = 2_000_000
)

// statsCache caches results that take a long time to compute.
type statsCache struct {
	days *shared[[]DayStats]
	// The following fields are used only while days is being computed.
	daily     map[Date]DayStats
	lastDaily int64 // all events up to this position have been counted; 0 before the first count
}

func newStatsCache() statsCache {
	return statsCache{days: newShared[[]DayStats]()}
}

// DailyStats returns the number of arrivals and sales on each of the last statsDays days, including today,
// oldest day first. It counts each event only once and caches the sums.
func (s *Service) DailyStats(ctx context.Context) ([]DayStats, error) {
	return s.stats.days.get(ctx, func([]DayStats) bool { return false }, s.countDays)
}

func (s *Service) countDays(ctx context.Context) ([]DayStats, error) {
	last, err := s.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	first := s.Today().Add(1 - statsDays)
	cache := &s.stats
	if cache.lastDaily == 0 || last < cache.lastDaily { // this is the first count, or the store was restored from a backup
		cache.daily, cache.lastDaily = map[Date]DayStats{}, 0
	}
	counted, err := s.countBack(ctx, first, max(cache.lastDaily, last-statsMaxEvents), last)
	if err != nil {
		return nil, err
	}
	for _, count := range counted {
		day := s.DateOf(count.Begin)
		sum := cache.daily[day]
		cache.daily[day] = DayStats{day, sum.Arrivals + count.Arrivals, sum.Sales + count.Sales}
	}
	cache.lastDaily = last
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
		batch, err := heavyRead(ctx, s, func() ([]PeriodStats, error) {
			return read(ctx, s, func(tx ReadTx) ([]PeriodStats, error) { return tx.PeriodStats(after, to) })
		})
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
