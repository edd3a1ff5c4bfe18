package wordindex

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// The search index has a row for each gram and each block of ids. A gram is a sequence of three code points in a folded
// text. The row contains those ids in the block whose texts contain the gram.
const (
	// blockSize is the number of ids in a block. A set of this size is the largest that SQLite keeps on the
	// same page as its key.
	blockSize = 7680
	// maxList is the size of the largest set that is stored as a list of ids instead of as a bitmap.
	maxList = blockSize/16 - 1
)

// gramsIn iterates over the grams in a folded text, in the order of the text. A code point has 21 bits, so a gram fits into a
// number.
func gramsIn(text string) iter.Seq[int64] {
	const all = 1<<63 - 1
	return func(yield func(int64) bool) {
		var gram int64
		n := 0
		for _, r := range text {
			gram = (gram<<21 | int64(r)) & all
			if n++; n >= 3 && !yield(gram) {
				return
			}
		}
	}
}

// grams returns the grams in a folded text, without duplicates, in the order of the text.
func grams(text string) []int64 {
	list := make([]int64, 0, max(0, len(text)-2))
	for gram := range gramsIn(text) {
		// A text has at most a few hundred grams, so searching the list takes less time than using a map.
		if !slices.Contains(list, gram) {
			list = append(list, gram)
		}
	}
	return list
}

func blockOf(id int64) int64 { return id / blockSize }

// offsetOf returns the offset of an id from the start of its block.
func offsetOf(id int64) uint16 { return uint16(id % blockSize) }

// idSet is a set of ids in one block. Each id is represented by its offset from the start of the block.
type idSet [blockSize / 64]uint64

func (s *idSet) add(id int64) { s[id%blockSize/64] |= 1 << (id % 64) }

func (s *idSet) remove(id int64) { s[id%blockSize/64] &^= 1 << (id % 64) }

func (s *idSet) has(id int64) bool { return s[id%blockSize/64]&(1<<(id%64)) != 0 }

func (s *idSet) intersect(other *idSet) {
	for i := range s {
		s[i] &= other[i]
	}
}

func (s *idSet) unite(other *idSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s *idSet) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// descending iterates over the ids in the set, highest first. block is the block that the set belongs to.
func (s *idSet) descending(block int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := len(s) - 1; i >= 0; i-- {
			for word := s[i]; word != 0; {
				bit := bits.Len64(word) - 1
				if !yield(block*blockSize + int64(i*64+bit)) {
					return
				}
				word &^= 1 << bit
			}
		}
	}
}

// encode returns the set as it is stored: as a sorted list with two bytes for each offset or, if that would not be
// shorter, as a bitmap.
func (s *idSet) encode() []byte {
	n := s.count()
	if n > maxList {
		bitmap := make([]byte, 0, len(s)*8)
		for _, word := range s {
			bitmap = binary.LittleEndian.AppendUint64(bitmap, word)
		}
		return bitmap
	}
	list := make([]byte, 0, n*2)
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			list = binary.LittleEndian.AppendUint16(list, uint16(i*64+bits.TrailingZeros64(word)))
		}
	}
	return list
}

// decode sets s to a stored set. It ignores offsets outside the block, which can only come from a damaged row.
func (s *idSet) decode(stored []byte) {
	*s = idSet{}
	if len(stored) == len(s)*8 {
		for i := range s {
			s[i] = binary.LittleEndian.Uint64(stored[i*8:])
		}
		return
	}
	for ; len(stored) >= 2; stored = stored[2:] {
		if offset := binary.LittleEndian.Uint16(stored); offset < blockSize {
			s.add(int64(offset))
		}
	}
}

// posting is one row of the search index.
type posting struct {
	block int64
	ids   []byte // an encoded idSet
}

// postingKey identifies a row of the search index.
type postingKey struct{ gram, block int64 }
