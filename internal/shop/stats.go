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
	return readCurrent(ctx, s, func(tx ReadTx) (Inventory, error) { return tx.Inventory() })
}

// Total returns the number of animals with any status.
func (i Inventory) Total() int64 { return i.Available + i.Pending + i.Sold + i.Unspecified }

// CategoryCount is the number of animals in one category, by status.
type CategoryCount struct {
	CategoryID int64
	Inventory
}

// LargestCategories contains the categories with the most animals.
type LargestCategories struct {
	Counts []CategoryCount // sorted by descending number of animals
	Others int64           // the number of animals in all other categories
}

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
	// recountFactor determines how long a count of all animals is reused. If counting took a time t, the
	// result is reused for recountFactor * t. This limits counting to a twentieth of the time.
	recountFactor = 20
	// exactCountLimit is the largest number of animals for which recountFactor does not apply.
	exactCountLimit = 50_000
	// countBudget is how long a count may take. It is longer than usual because all callers share one count.
	countBudget = 30 * time.Second
	// largestCategories is the number of categories that LargestCategories returns.
	largestCategories = 12
)

// statsCache caches results that take a long time to compute.
type statsCache struct {
	largest *shared[countedCategories]
	days    *shared[[]DayStats]
	// The following fields are used only while days is being computed.
	daily     map[Date]DayStats
	lastDaily int64 // all events up to this position have been counted; 0 before the first count
}

func newStatsCache() statsCache {
	return statsCache{largest: newShared[countedCategories](), days: newShared[[]DayStats]()}
}

// countedCategories is a count, together with the time and the versions of the catalogue for which it is valid.
type countedCategories struct {
	LargestCategories
	until    time.Time
	validity Validity
}

// LargestCategories counts the animals in the categories that have the most animals. It reads every animal, but
// concurrent calls share one count. In a large shop, the counts may be a few seconds old.
func (s *Service) LargestCategories(ctx context.Context) (LargestCategories, error) {
	valid := func(c countedCategories) bool {
		version, ok := s.CatalogVersion()
		return time.Now().Before(c.until) || ok && c.validity.Valid(version)
	}
	counted, err := s.stats.largest.get(ctx, valid, s.countLargestCategories)
	return counted.LargestCategories, err
}

func (s *Service) countLargestCategories(ctx context.Context) (counted countedCategories, err error) {
	ctx = WithRetryBudget(ctx, countBudget)
	if version, ok := s.CatalogVersion(); ok {
		if counted.validity, err = s.ValidityFrom(ctx, version); err != nil {
			return counted, err
		}
	}
	var took time.Duration
	counted.LargestCategories, err = heavyRead(ctx, s, func() (LargestCategories, error) {
		start := time.Now()
		defer func() { took = time.Since(start) }()
		return read(ctx, s, func(tx ReadTx) (LargestCategories, error) {
			counts, err := tx.LargestCategories(largestCategories)
			if err != nil {
				return LargestCategories{}, err
			}
			all, err := tx.Inventory()
			others := all.Total()
			for _, count := range counts {
				others -= count.Total()
			}
			return LargestCategories{counts, others}, err
		})
	})
	total := counted.Others
	for _, count := range counted.Counts {
		total += count.Total()
	}
	if total > exactCountLimit {
		counted.until = time.Now().Add(recountFactor * took)
	}
	return counted, err
}

// CountCategories counts the animals in the given categories. It leaves out categories without animals.
func (s *Service) CountCategories(ctx context.Context, ids []int64) (map[int64]Inventory, error) {
	return heavyRead(ctx, s, func() (map[int64]Inventory, error) {
		return read(ctx, s, func(tx ReadTx) (map[int64]Inventory, error) {
			counts, err := tx.CountCategories(ids)
			byID := map[int64]Inventory{}
			for _, count := range counts {
				byID[count.CategoryID] = count.Inventory
			}
			return byID, err
		})
	})
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
