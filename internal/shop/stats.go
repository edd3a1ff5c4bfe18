package shop

import (
	"context"
	"sync"
	"time"
)

// Inventory is the number of animals by status.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"`
}

// Inventory counts the animals by status.
func (s *Service) Inventory(ctx context.Context) (Inventory, error) {
	return readCurrent(ctx, s, func(tx ReadTx) (Inventory, error) { return tx.Inventory() })
}

// PetCount is the number of animals of one category and status.
type PetCount struct {
	CategoryID int64
	Status     Status
	N          int64
}

// DayStats is the number of animals that were added and sold on one day in UTC.
type DayStats struct {
	Day      time.Time
	Arrivals int64
	Sales    int64
}

const (
	// statsDays is how many days DailyStats covers.
	statsDays = 30
	// statsBatch is how many events one transaction counts, so that none takes long.
	statsBatch = 50_000
	// statsMaxEvents bounds how many events are counted, so that DailyStats stays fast in a store with many
	// events.
	statsMaxEvents = 2_000_000
	// exactCountLimit is up to how many animals CountPets counts on every call.
	exactCountLimit = 50_000
	// recountFactor is how many times as long as a larger count took its result is reused. It limits counting
	// to a twentieth of the time.
	recountFactor = 20
)

// statsCache caches results that take long to compute.
type statsCache struct {
	pets struct {
		sync.Mutex
		counts []PetCount
		until  time.Time
	}
	days struct {
		sync.Mutex
		counts map[time.Time]DayStats
		last   int64 // the position up to which all events are counted; 0 before the first count
	}
}

// CountPets counts the animals by category and status. In a large shop the counts may be some seconds old.
func (s *Service) CountPets(ctx context.Context) ([]PetCount, error) {
	cache := &s.stats.pets
	cache.Lock()
	defer cache.Unlock()
	start := time.Now()
	if start.Before(cache.until) {
		return cache.counts, nil
	}
	counts, err := read(ctx, s, ReadTx.CountPets)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, count := range counts {
		total += count.N
	}
	cache.counts, cache.until = counts, time.Time{}
	if total > exactCountLimit {
		cache.until = time.Now().Add(recountFactor * time.Since(start))
	}
	return counts, nil
}

// DailyStats returns the arrivals and sales of the last days up to today, oldest first. It counts each event
// once and remembers the sums.
func (s *Service) DailyStats(ctx context.Context) ([]DayStats, error) {
	last, err := s.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	today := s.now().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-statsDays)
	cache := &s.stats.days
	cache.Lock()
	defer cache.Unlock()
	if cache.last == 0 || last < cache.last { // the first count, or the store was restored from a backup
		cache.counts, cache.last = map[time.Time]DayStats{}, 0
	}
	counted, err := s.countBack(ctx, first, max(cache.last, last-statsMaxEvents), last)
	if err != nil {
		return nil, err
	}
	for _, count := range counted {
		sum := cache.counts[count.Day]
		cache.counts[count.Day] = DayStats{count.Day, sum.Arrivals + count.Arrivals, sum.Sales + count.Sales}
	}
	cache.last = last
	days := make([]DayStats, statsDays)
	for i := range days {
		day := first.AddDate(0, 0, i)
		days[i] = DayStats{day, cache.counts[day].Arrivals, cache.counts[day].Sales}
	}
	return days, nil
}

// countBack counts events from the newest backwards, in batches, until it passes the first day or reaches a
// position.
func (s *Service) countBack(ctx context.Context, first time.Time, from, to int64) ([]DayStats, error) {
	var counted []DayStats
	for to > from {
		after := max(from, to-statsBatch)
		batch, err := read(ctx, s, func(tx ReadTx) ([]DayStats, error) { return tx.DailyStats(after, to) })
		if err != nil {
			return nil, err
		}
		counted = append(counted, batch...)
		if len(batch) > 0 && batch[0].Day.Before(first) {
			break
		}
		to = after
	}
	return counted, nil
}
