package cli

import (
	"testing"
	"time"

	"animalstore/internal/shoptest"
)

func TestTimesAreReadInTheTimeZone(t *testing.T) {
	time.Local = shoptest.Zone("Asia/Tokyo")
	defer func() { time.Local = time.UTC }()
	for text, want := range map[string]string{
		"2027-01-31":                "2027-01-30T15:00:00Z",
		"2027-01-31 18:30":          "2027-01-31T09:30:00Z",
		"2027-01-31T18:00:00Z":      "2027-01-31T18:00:00Z",
		"2027-01-31T18:00:00+01:00": "2027-01-31T17:00:00Z",
	} {
		got, err := timeFlag{}.parsePast(text)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: got %v, %v, want %s", text, got, err, want)
		}
	}
	at := time.Date(2027, 1, 31, 18, 0, 0, 0, time.UTC)
	if got := (timeFlag{}).format(at, ""); got != "2027-02-01 03:00 JST" {
		t.Errorf("the local time: got %q", got)
	}
	if got := (timeFlag{UTC: true}).format(at, ""); got != "2027-01-31 18:00 UTC" {
		t.Errorf("the time in UTC: got %q", got)
	}
	if got, err := (timeFlag{UTC: true}).parsePast("2027-01-31"); err != nil || !got.Equal(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("a date in UTC: got %v, %v", got, err)
	}
}

// A word such as yesterday stands for midnight on that day. A duration is subtracted from the current
// time by parsePast and added to it by parseFuture.
func TestRelativeTimes(t *testing.T) {
	for {
		now := time.Now().UTC()
		midnight := now.Truncate(day)
		yesterday, err1 := timeFlag{UTC: true}.parsePast("yesterday")
		tomorrow, err2 := timeFlag{UTC: true}.parseFuture("tomorrow")
		ago, err3 := timeFlag{}.parsePast("3d")
		ahead, err4 := timeFlag{}.parseFuture("1w12h")
		after := time.Now().UTC()
		if !after.Truncate(day).Equal(midnight) {
			continue // midnight passed during the calls, so try again
		}
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
			t.Fatal(err1, err2, err3, err4)
		}
		between := func(name string, got time.Time, offset time.Duration) {
			if got.Before(now.Add(offset)) || got.After(after.Add(offset)) {
				t.Errorf("%s: got %v, want %v from now", name, got, offset)
			}
		}
		between("3d ago", ago, -3*day)
		between("1w12h ahead", ahead, 7*day+12*time.Hour)
		if !yesterday.Equal(midnight.Add(-day)) || !tomorrow.Equal(midnight.Add(day)) {
			t.Errorf("got yesterday %v and tomorrow %v at %v", yesterday, tomorrow, now)
		}
		return
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"3d": 3 * day, "2w": 14 * day, "1w2d3h": 9*day + 3*time.Hour, "90m": 90 * time.Minute, "1d30m": day + 30*time.Minute, "0d": 0,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "3", "d", "3 d", "-3d", "1.5d", "3days", "1d-1h", "1d+1h", "999999d", "100000w", "15251w", "100000w100000w", "1h1d", "2d9999999999h"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
	for d, want := range map[time.Duration]string{day: "24h", 90 * time.Minute: "1h30m", time.Second: "1s", 61 * time.Second: "1m1s", 0: "0s"} {
		if got := formatDuration(d); got != want {
			t.Errorf("%d: got %q, want %q", d, got, want)
		}
	}
}
