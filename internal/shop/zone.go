package shop

import (
	"sort"
	"time"
)

// Date is a day in the shop's time zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// Location returns the shop's time zone, which determines the day on which something happens.
func (s *Service) Location() *time.Location { return s.current.get().location }

// Today returns the current day in the shop's time zone.
func (s *Service) Today() Date { return s.DateOf(s.clock()) }

// DateOf returns the day of a time in the shop's time zone.
func (s *Service) DateOf(t time.Time) Date { return dateOf(t.In(s.Location())) }

// DayBounds returns when a day begins in the shop's time zone and when the next day begins. Most days have 24 hours,
// but a day on which clocks are changed may have 23 or 25.
func (s *Service) DayBounds(d Date) (begin, end time.Time) { return dayBounds(d, s.Location()) }

func dayBounds(d Date, zone *time.Location) (begin, end time.Time) {
	return beginOf(d, zone), beginOf(d.Add(1), zone)
}

// beginOf returns the first minute of a day. It does not rely on midnight, because a day on which clocks are changed
// at midnight may have no midnight or two.
func beginOf(d Date, zone *time.Location) time.Time {
	earliest := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, zone).Add(-3 * time.Hour)
	minutes := sort.Search(6*60, func(i int) bool {
		return !dateOf(earliest.Add(time.Duration(i) * time.Minute).In(zone)).Before(d)
	})
	return earliest.Add(time.Duration(minutes) * time.Minute)
}

// Add returns the day that is the given number of days later.
func (d Date) Add(days int) Date { return dateOf(d.UTC().AddDate(0, 0, days)) }

// Before reports whether the day is before another one.
func (d Date) Before(other Date) bool { return d.UTC().Before(other.UTC()) }

// UTC returns midnight of the day in UTC, so that days can be compared and formatted as times.
func (d Date) UTC() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// String formats the day like 2026-03-29.
func (d Date) String() string { return d.UTC().Format(time.DateOnly) }

// ParseDate parses a day in the format 2026-03-29.
func ParseDate(text string) (Date, error) {
	day, err := time.Parse(time.DateOnly, text)
	return dateOf(day), err
}

func dateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{year, month, day}
}
