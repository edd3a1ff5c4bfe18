package shop_test

import (
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A day begins and ends according to the shop's time zone, even if clocks are changed on that day or at midnight.
func TestDayBounds(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for _, c := range []struct {
		zone, date, begin string
		hours             float64
	}{
		{"UTC", "2026-03-29", "2026-03-29T00:00:00Z", 24},
		{"Europe/Berlin", "2026-03-29", "2026-03-29T00:00:00+01:00", 23},
		{"Europe/Berlin", "2026-10-25", "2026-10-25T00:00:00+02:00", 25},
		{"Europe/Berlin", "2026-12-31", "2026-12-31T00:00:00+01:00", 24},
		{"Asia/Kathmandu", "2026-02-28", "2026-02-28T00:00:00+05:45", 24},
		{"Australia/Lord_Howe", "2026-10-04", "2026-10-04T00:00:00+10:30", 23.5},
		{"America/Santiago", "2026-09-06", "2026-09-06T01:00:00-03:00", 23}, // no midnight on this day
		{"America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00", 25},   // two midnights on this day
	} {
		node := must(s.Node(t.Context(), shop.Options{Location: shoptest.Zone(c.zone)}))(t)
		begin, end := node.DayBounds(must(shop.ParseDate(c.date))(t))
		equal(t, c.zone+" "+c.date, begin.Format(time.RFC3339), c.begin)
		equal(t, "hours of "+c.zone+" "+c.date, end.Sub(begin).Hours(), c.hours)
		equal(t, "the day of its first moment", node.DateOf(begin).String(), c.date)
		equal(t, "the day of its last moment", node.DateOf(end.Add(-1)).String(), c.date)
	}
}

// Arrivals are counted by day in the shop's time zone, even around midnight and on days that have 23 or 25 hours.
func TestDailyStatsCountLocalDays(t *testing.T) {
	berlin := shoptest.Zone("Europe/Berlin")
	inVirtualTime(t, shop.Options{Location: berlin}, func(t *testing.T, s *shoptest.Shop) {
		for _, day := range []struct {
			date  string
			hours int64
		}{{"2000-03-26", 23}, {"2000-10-29", 25}} {
			date := must(shop.ParseDate(day.date))(t)
			begin, end := s.DayBounds(date)
			time.Sleep(time.Until(begin.Add(-30 * time.Minute)))
			for time.Now().Before(end.Add(time.Hour)) { // add one animal on the day before, one each hour, and one on the day after
				s.AddPet(t, "Rex", 1, shop.Available)
				time.Sleep(time.Hour)
			}
			days := must(s.DailyStats(t.Context()))(t)
			n := len(days)
			equal(t, "the last day", days[n-1].Day, date.Add(1))
			equal(t, "the day before", days[n-3], shop.DayStats{Day: date.Add(-1), Arrivals: 1})
			equal(t, "the day", days[n-2], shop.DayStats{Day: date, Arrivals: day.hours})
			equal(t, "the day after", days[n-1], shop.DayStats{Day: date.Add(1), Arrivals: 1})
		}
	})
}

// The holds that end today are those that end before the next midnight in the shop's time zone.
func TestHoldsEndingTodayFollowTheTimeZone(t *testing.T) {
	inVirtualTime(t, shop.Options{Location: shoptest.Zone("America/New_York")}, func(t *testing.T, s *shoptest.Shop) {
		// In New York, it is still 31 December 1999, because virtual time starts at midnight UTC on 1 January 2000.
		begin, end := s.DayBounds(s.Today())
		equal(t, "the day", s.Today().String(), "1999-12-31")
		equal(t, "the hours that are left", time.Until(end), 5*time.Hour)
		equal(t, "the hours that are over", time.Since(begin), 19*time.Hour)
		for i, ends := range []time.Time{end.Add(-time.Second), end, end.Add(time.Second)} {
			pet := s.AddPet(t, "Rex", 1, shop.Available)
			order := must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID}))(t)
			must(s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{HoldExpiresAt: &ends}, nil))(t)
			equal(t, "the order", order.ID, int64(i+1))
		}
		work := must(s.WorkList(t.Context(), shop.Caller{}, 10))(t)
		equal(t, "the holds that end today", orderIDs(work.EndingToday.Items), "[1]")
		equal(t, "the other holds", orderIDs(work.ToApprove.Items), "[2 3]")
	})
}
