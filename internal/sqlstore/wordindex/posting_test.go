package wordindex

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// If a set is encoded and decoded again, it contains the same ids, whether it is stored as a list or as a bitmap.
func TestStoredIDSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		offsets := rapid.SliceOfNDistinct(rapid.Int64Range(0, blockSize-1), 0, 2*maxList, rapid.ID[int64]).Draw(t, "offsets")
		var set, again idSet
		for _, offset := range offsets {
			set.add(7*blockSize + offset)
		}
		stored := set.encode()
		again.decode(stored)
		slices.Sort(offsets)
		slices.Reverse(offsets)
		if got := slices.Collect(again.descending(0)); !slices.Equal(got, offsets) {
			t.Fatalf("stored %v, got %v", offsets, got)
		}
		if len(stored) > blockSize/8 {
			t.Fatalf("%d ids take %d bytes", len(offsets), len(stored))
		}
	})
}
