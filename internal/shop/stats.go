package shop

import (
	"context"
	"time"
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
	// KeptPeriods is the number of the newest periods that a store keeps. They cover more than statsDays days, and one
	// more day because the shop's time zone may be changed.
	KeptPeriods = int((statsDays + 2) * 24 * time.Hour / StatsPeriod)
)

// IsSale reports whether the update is a sale of the animal.
func (u PetUpdate) IsSale() bool { return u.After.Status == Sold && u.Before.Status != Sold }

// TakesBackSale reports whether the update takes back the sale at u.SaleAt.
func (u PetUpdate) TakesBackSale() bool { return !u.SaleAt.IsZero() && !u.IsSale() }

// DailyStats returns the number of arrivals and sales on each of the last statsDays days, including today,
// oldest day first.
func (s *Service) DailyStats(ctx context.Context) ([]DayStats, error) {
	first := s.Today().Add(1 - statsDays)
	since, _ := s.DayBounds(first)
	periods, err := read(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) ([]PeriodStats, error) { return tx.PeriodStats(since) })
	if err != nil {
		return nil, err
	}
	daily := map[Date]DayStats{}
	for _, period := range periods {
		day := s.DateOf(period.Begin)
		sum := daily[day]
		daily[day] = DayStats{day, sum.Arrivals + period.Arrivals, sum.Sales + period.Sales}
	}
	days := make([]DayStats, statsDays)
	for i := range days {
		day := first.Add(i)
		days[i] = DayStats{day, daily[day].Arrivals, daily[day].Sales}
	}
	return days, nil
}
