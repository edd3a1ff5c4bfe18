package shop

import (
	"context"
	"sync"
	"time"
)

// Inventory counts the animals by status.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"`
}

// Inventory counts the animals.
func (s *Service) Inventory(ctx context.Context) (Inventory, error) {
	return readCurrent(ctx, s, func(tx ReadTx) (Inventory, error) { return tx.Inventory() })
}

// PetCount is how many animals there are of a category and a status.
type PetCount struct {
	CategoryID int64
	Status     Status
	N          int64
}

// DayStats is how many animals came and how many were sold on one day, in UTC.
type DayStats struct {
	Day      time.Time
	Arrivals int64
	Sales    int64
}

const (
	// statsDays is how far the counts by the day go back.
	statsDays = 30
	// statsBatch is how many events are counted at a time: a read must not take long.
	statsBatch = 50_000
	// statsMaxEvents is how many events are looked through at most, so that a store that tells very much of itself answers, too.
	statsMaxEvents = 2_000_000
	// exactCountLimit is how many animals are counted anew whenever somebody asks.
	exactCountLimit = 50_000
	// recountFactor is how long counting more rests, as many times as long as it took: it never takes more than so much of a machine.
	recountFactor = 20
)

// statsCache remember what takes long to count.
type statsCache struct {
	pets struct {
		sync.Mutex
		counts []PetCount
		until  time.Time
	}
	days struct {
		sync.Mutex
		counts map[time.Time]DayStats
		last   int64 // all events up to here are counted; 0: none yet
	}
}

// CountPets counts the animals by category and status. In a large shop the count is some seconds old.
func (s *Service) CountPets(ctx context.Context) ([]PetCount, error) {
	t := &s.stats.pets
	t.Lock()
	defer t.Unlock()
	start := time.Now()
	if start.Before(t.until) {
		return t.counts, nil
	}
	counts, err := read(ctx, s, ReadTx.CountPets)
	if err != nil {
		return nil, err
	}
	all := int64(0)
	for _, count := range counts {
		all += count.N
	}
	t.counts, t.until = counts, time.Time{}
	if all > exactCountLimit {
		t.until = time.Now().Add(recountFactor * time.Since(start))
	}
	return counts, nil
}

// DailyStats counts the arrivals and the sales of the last days, the oldest first, up to today. It counts each event once for
// as long as the service runs.
func (s *Service) DailyStats(ctx context.Context) ([]DayStats, error) {
	last, err := s.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	today := s.now().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-statsDays)
	t := &s.stats.days
	t.Lock()
	defer t.Unlock()
	if t.last == 0 || last < t.last { // it begins, or the store is another one
		t.counts, t.last = map[time.Time]DayStats{}, 0
	}
	counted, err := s.countBack(ctx, first, max(t.last, last-statsMaxEvents), last)
	if err != nil {
		return nil, err
	}
	for _, count := range counted {
		sum := t.counts[count.Day]
		t.counts[count.Day] = DayStats{count.Day, sum.Arrivals + count.Arrivals, sum.Sales + count.Sales}
	}
	t.last = last
	days := make([]DayStats, statsDays)
	for i := range days {
		day := first.AddDate(0, 0, i)
		days[i] = DayStats{day, t.counts[day].Arrivals, t.counts[day].Sales}
	}
	return days, nil
}

// countBack counts from the newest event backwards, a part at a time, until a day before the first one or a position.
func (s *Service) countBack(ctx context.Context, first time.Time, from, to int64) ([]DayStats, error) {
	var counted []DayStats
	for to > from {
		after := max(from, to-statsBatch)
		part, err := read(ctx, s, func(tx ReadTx) ([]DayStats, error) { return tx.DailyStats(after, to) })
		if err != nil {
			return nil, err
		}
		counted = append(counted, part...)
		if len(part) > 0 && part[0].Day.Before(first) {
			break
		}
		to = after
	}
	return counted, nil
}
