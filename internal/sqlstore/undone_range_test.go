package sqlstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

// A restore to a position before an undone range replaces that range, because it undoes the same events and more.
func TestLaterRestoreReplacesTheRangesItCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before string
		add    UndoneRange
		want   string
	}{
		{"", UndoneRange{0, 5}, "0-5"},
		{"12-48", UndoneRange{97, 1_000_000_098}, "12-48 97-1000000098"},
		{"12-48", UndoneRange{12, 60}, "12-60"},
		{"12-48 50-60", UndoneRange{49, 70}, "12-48 49-70"},
		{"12-48 50-60", UndoneRange{3, 70}, "3-70"},
	} {
		list, err := ParseUndoneRanges(c.before)
		must(t, err)
		if got := list.Add(c.add).String(); got != c.want {
			t.Errorf("%q and %v: got %q, want %q", c.before, c.add, got, c.want)
		}
	}
}

func TestReaderResumesAfterARestore(t *testing.T) {
	t.Parallel()
	for _, database := range []string{newFile(t), newDatabase(t)} {
		store, got := open(t, database, Options{}), map[int64]int64{}
		write(t, store, func(w shop.WriteTx) error { return w.(*tx).set(UndoneRangesSetting, "12-48 97-1098") })
		read(t, store, func(tx shop.ReadTx) (err error) {
			for _, place := range []int64{0, 12, 13, 47, 48, 49, 97, 98, 1097, 1098, 1099} {
				resume, err := tx.ResumePosition(place)
				if err != nil {
					return err
				}
				if resume > 0 {
					got[place] = resume
				}
			}
			got[-1], err = tx.LastEvent()
			return err
		})
		if diff := cmp.Diff(map[int64]int64{-1: 1098, 13: 48, 47: 48, 98: 1098, 1097: 1098}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", database, diff)
		}
	}
}
