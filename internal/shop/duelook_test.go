package shop

import (
	"testing"
	"time"
)

// LookLate makes every query for due deliveries begin at a later time than the earliest delivery (see dueLooks). This
// lasts for an hour. A slow query that found nothing has the same effect, but only for a minute.
func (s *Service) LookLate() {
	now := time.Now().UTC()
	s.dueLooks.record(now, nil, true, true)
	s.dueLooks.restart = now.Add(time.Hour)
}

// LooksLate reports whether the next query for due deliveries begins at a later time than the earliest delivery (see
// dueLooks).
func (s *Service) LooksLate() bool { return s.dueLooks.from(time.Now().UTC()) != nil }

// A look is a query for due deliveries. After a slow look from the beginning, each look begins shortly before the time
// of the previous look. For a webhook that has an older delivery, the look begins at that delivery. A minute after the
// slow look, or if the clock was set back, a look begins at the beginning again.
func TestSlowLooksForDueDeliveriesBeginLater(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	old := now.Add(-time.Hour)
	due := []DueWebhook{{ID: 1, First: old}, {ID: 2, First: now.Add(-time.Second)}, {ID: 3, First: now.Add(time.Hour)}}
	var l dueLooks
	record := func(complete, slow bool) { l.record(now, due, complete, slow) }
	want := func(when string, at time.Time, begin time.Time) {
		t.Helper()
		from := l.from(at)
		if begin.IsZero() {
			if from != nil {
				t.Errorf("%s: the look begins at %+v", when, from)
			}
			return
		}
		if from == nil || !from.Time.Equal(begin) || len(from.Webhooks) != 1 || !from.Webhooks[1].Equal(old) {
			t.Errorf("%s: the look begins at %+v, want %v", when, from, begin)
		}
	}
	want("at first", now, time.Time{})
	record(true, false)
	want("after a quick look", now, time.Time{})
	record(true, true)
	want("after a slow look", now.Add(time.Second), now.Add(-dueMargin))
	want("after the clock was set back", now.Add(-time.Second), time.Time{})
	now = now.Add(30 * time.Second)
	due[1].First = now
	record(false, false)
	want("after another look", now.Add(time.Second), now.Add(-dueMargin))
	want("a minute after the slow look", now.Add(30*time.Second), time.Time{})
	record(true, false)
	want("after the next quick look", now, time.Time{})
}
