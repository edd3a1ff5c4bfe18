package wordindex

import (
	"cmp"
	"math"
	"slices"
)

const (
	// maxGrams is the maximum number of grams that one search looks up.
	maxGrams = 8
	// firstGrams is the number of grams that the first step looks up. This is enough for a rare word, because hardly
	// any of its grams are common.
	firstGrams = 3
	// bestGrams is the number of grams that are looked up after the second step, which has found the rarest grams of
	// each word.
	bestGrams = 4
	// firstPostings is the number of rows that the first step reads for each gram. The grams of a rare word have
	// fewer rows.
	firstPostings = 4
	// mostPostings is the maximum number of rows that a step reads for each gram.
	mostPostings = 256
)

// searchGrams returns grams that every text with these words contains. If there are more than maxGrams, it returns only
// maxGrams of them, spread evenly over the words. Words of fewer than three letters have no grams.
func searchGrams(words []string) []int64 {
	var all []int64
	for _, word := range words {
		for _, gram := range grams(word) {
			if !slices.Contains(all, gram) {
				all = append(all, gram)
			}
		}
	}
	return spread(all, maxGrams)
}

// spread returns n elements that are spread evenly over a list, or the whole list if it is not longer than n.
func spread(list []int64, n int) []int64 {
	if len(list) <= n {
		return list
	}
	some := make([]int64, n)
	for i := range some {
		some[i] = list[i*(len(list)-1)/(n-1)]
	}
	return some
}

// postingList contains the newest postings of one gram, highest block first. It covers all blocks down to
// floor.
type postingList struct {
	gram     int64
	postings []posting
	floor    int64 // math.MinInt64 if there are no further postings
	size     int   // the total size of the sets in bytes
}

func newPostingList(gram int64, postings []posting, limit int) postingList {
	list := postingList{gram, postings, math.MinInt64, 0}
	if len(postings) == limit {
		list.floor = postings[limit-1].block
	}
	for _, p := range postings {
		list.size += len(p.ids)
	}
	return list
}

// unite adds the postings of another list for the same gram. The result covers the blocks that both lists cover.
func (l *postingList) unite(other postingList) {
	l.floor, l.size = max(l.floor, other.floor), l.size+other.size
	if len(other.postings) == 0 {
		return
	}
	all := slices.Concat(l.postings, other.postings)
	slices.SortStableFunc(all, func(a, b posting) int { return cmp.Compare(b.block, a.block) })
	l.postings = all[:0]
	for _, p := range all {
		if last := len(l.postings) - 1; last >= 0 && l.postings[last].block == p.block {
			var set, more idSet
			set.decode(l.postings[last].ids)
			more.decode(p.ids)
			set.unite(&more)
			p.ids = set.encode()
			l.postings[last] = p
			continue
		}
		l.postings = append(l.postings, p)
	}
}

// restrict removes from a block's set all ids that the list does not contain. It changes nothing if the list does not
// cover the block.
func (l *postingList) restrict(block int64, set *idSet) {
	if block < l.floor {
		return
	}
	at, found := slices.BinarySearchFunc(l.postings, block, func(p posting, block int64) int { return cmp.Compare(block, p.block) })
	if !found {
		*set = idSet{}
		return
	}
	var other idSet
	other.decode(l.postings[at].ids)
	set.intersect(&other)
}

// scanIndex reads n postings for each gram. It compares the rows that have all grams, and the rows that wait to be
// indexed. It returns the grams for the next step.
//
// The rarest gram decides how far down the step goes. For the other grams, the same number of postings may cover fewer
// blocks. In the remaining blocks, these grams then rule out no ids.
func (s *Search[T]) scanIndex(grams []int64, n int) (best []int64, err error) {
	n = min(n, max(1, (maxPostings-s.postings)/len(grams)/len(s.Lists)))
	lists := make([]postingList, len(grams))
	for _, of := range s.Lists {
		found, err := s.Index.statements.newest(s.Tx, of, grams, blockOf(s.top), n)
		if err != nil {
			return nil, err
		}
		for i, postings := range found {
			if list := newPostingList(grams[i], postings, n); of == s.Lists[0] {
				lists[i] = list
			} else {
				lists[i].unite(list)
			}
			s.postings += max(1, len(postings))
		}
	}
	slices.SortFunc(lists, func(a, b postingList) int { return cmp.Or(cmp.Compare(a.floor, b.floor), cmp.Compare(a.size, b.size)) })
	return s.rarest(lists), s.compareLists(lists)
}

// rarest returns the grams of at most bestGrams lists, which must be sorted by rarity. It prefers the rarest gram of
// each word, because two common words may hardly ever occur together.
func (s *Search[T]) rarest(lists []postingList) []int64 {
	var first, others []int64
	missing := slices.Clone(s.Words)
	for _, list := range lists {
		has := func(word string) bool { return slices.Contains(grams(word), list.gram) }
		if at := slices.IndexFunc(missing, has); at >= 0 {
			first, missing = append(first, list.gram), slices.DeleteFunc(missing, has)
		} else {
			others = append(others, list.gram)
		}
	}
	all := append(first, others...)
	return all[:min(len(all), bestGrams)]
}

// compareLists compares the rows whose ids are in all lists, down to the floor of the first list. It also compares
// the rows that wait to be indexed.
func (s *Search[T]) compareLists(lists []postingList) error {
	if s.waiting == nil {
		var err error
		if s.waiting, err = s.Index.readWaiting(s.Tx, s.Lists, s.top, s.Words); err != nil {
			return err
		}
	}
	lowest := s.waiting.lowest
	if lists[0].floor > math.MinInt64 {
		lowest = max(lowest, lists[0].floor*blockSize)
	}
	var ids []int64
	for _, p := range lists[0].postings {
		if p.block < blockOf(lowest) {
			break
		}
		var set idSet
		set.decode(p.ids)
		for i := range lists[1:] {
			lists[1+i].restrict(p.block, &set)
		}
		for id := range set.descending(p.block) {
			if id <= s.top && id >= lowest {
				ids = append(ids, id)
			}
		}
		if low := max(lowest, p.block*blockSize); len(ids) > s.limit {
			if err := s.compareDownTo(low, ids); err != nil || s.done() {
				return err
			}
			ids = ids[:0]
		}
	}
	return s.compareDownTo(lowest, ids)
}

// compareDownTo compares the rows with the given ids, which the index has found, and the waiting rows down to low. If there
// are too many ids, it stops at a higher one. The ids must be sorted in descending order.
func (s *Search[T]) compareDownTo(low int64, ids []int64) error {
	if rest := maxCompared - s.compared; len(ids) > rest {
		ids = ids[:rest]
		low = ids[rest-1]
	}
	s.compared += len(ids)
	all := slices.Concat(ids, s.waiting.downTo(low))
	slices.SortFunc(all, descending)
	err := s.compareIDs(slices.Compact(all))
	s.top = low - 1
	return err
}
