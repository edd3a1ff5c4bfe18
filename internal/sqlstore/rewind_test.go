package sqlstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// A restore to a position before an earlier rewind also undoes what that rewind undid.
func TestLaterRewindReplacesTheOnesItCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before string
		add    rewind
		want   string
	}{
		{"", rewind{0, 5}, "0-5"},
		{"", rewind{12, 48}, "12-48"},
		{"12-48", rewind{97, 1_000_000_098}, "12-48 97-1000000098"},
		{"12-48", rewind{12, 60}, "12-60"},
		{"12-48 50-60", rewind{49, 70}, "12-48 49-70"},
		{"12-48 50-60", rewind{3, 70}, "3-70"},
	} {
		list, err := parseRewinds(c.before)
		if err != nil {
			t.Fatal(err)
		}
		if got := formatRewinds(addRewind(list, c.add)); got != c.want {
			t.Errorf("%q and %v: got %q, want %q", c.before, c.add, got, c.want)
		}
	}
}

func TestReaderResumesAfterARewind(t *testing.T) {
	t.Parallel()
	for name, engine := range copyEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := engine(t)
			places := func() map[int64]int64 {
				got := map[int64]int64{}
				with(t, database, func(tx shop.WriteTx) error {
					for _, place := range []int64{0, 12, 13, 47, 48, 49, 97, 98, 1097, 1098, 1099} {
						goOn, err := tx.ResumePosition(place)
						if err != nil {
							return err
						}
						if goOn > 0 {
							got[place] = goOn
						}
					}
					last, err := tx.LastEvent()
					got[-1] = last
					return err
				})
				return got
			}
			if diff := cmp.Diff(map[int64]int64{-1: 0}, places()); diff != "" {
				t.Errorf("a new store:\n%s", diff)
			}
			execOn(t, database, "INSERT INTO settings (name, value) VALUES ('undone_events', '12-48 97-1098')")
			if diff := cmp.Diff(map[int64]int64{-1: 1098, 13: 48, 47: 48, 98: 1098, 1097: 1098}, places()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
