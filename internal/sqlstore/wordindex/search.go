package wordindex

import (
	"cmp"
	"math"
	"slices"

	"animalstore/internal/sqlstore/engine"
)

// The limits for the work that one search does. A search that reaches one of them returns a short page. Texts that wait to
// be indexed have a limit of their own, maxWaiting, which a search reaches only while it indexes a store from a version
// without an index.
const (
	maxCompared = 2000 // the number of texts that are compared although they do not wait
	maxPostings = 4096 // the number of rows that are read from the search index, each of at most 1 KB
	// maxFiltered is the number of rows of a filtered list that are compared before the index is used. Often, a filter
	// selects fewer rows than the words of the search do.
	maxFiltered = 200
	// scanBatch is the maximum number of rows that are read at once. It is a size of statements that byID prepares on SQLite.
	scanBatch = 1024
)

// Search finds the rows that contain all words of a text, newest first. The texts of a row are in one list or in several. The search index only narrows down
// the rows. Every text that may match is folded and compared here, so both engines return the same rows, even if the
// index contains ids of rows that do not match.
//
// The search proceeds from the highest id to the lowest. Each step handles all ids from top down to some lower id, so
// a search that stops early can be continued from there.
type Search[T any] struct {
	Index    *Index
	Tx       *engine.Tx
	Lists    []*List // each word may occur in the text of any of these lists
	From     string  // the table with the rows of all lists
	Columns  string
	Scan     func(engine.Scanner) (T, error)
	ID       func(T) int64
	Text     func(T) string
	Words    []string                                   // the folded words
	Contains func(text string, words []string) bool     // whether a text contains all words
	Matches  func(T) bool                               // whether a row matches the filters of the list
	Page     func(limit int, after *int64) ([]T, error) // reads a page of the list with its filters
	Filtered bool                                       // whether the list has filters
	ListOnly bool                                       // whether the filters select only a few rows, so that no index is needed

	limit    int
	top      int64 // the highest id that has not been handled; the search is complete if top is less than 1
	found    []T   // at most limit+1 rows
	compared int
	postings int
	waiting  *waitingRows // nil before they are needed
}

// Run returns the first rows after a position that contain all words, at most limit. more is true if there may be
// further rows. If the search stopped early, stopped is the position after which it continues.
func (s *Search[T]) Run(limit int, after *int64) (found []T, more bool, stopped *int64, err error) {
	s.limit, s.top, s.found = limit, math.MaxInt64, []T{}
	if after != nil {
		s.top = *after - 1
		if *after == math.MinInt64 {
			s.top = 0
		}
	}
	if err := s.steps(); err != nil {
		return nil, false, nil, err
	}
	switch {
	case len(s.found) > s.limit:
		return s.found[:s.limit], true, nil, nil
	case s.top >= 1:
		return s.found, true, new(s.top + 1), nil
	}
	return s.found, false, nil, nil
}

// done reports whether the page is full, the end of the list is reached, or a limit is exhausted.
func (s *Search[T]) done() bool {
	return len(s.found) > s.limit || s.top < 1 || s.compared >= maxCompared || s.postings >= maxPostings || s.waiting.truncatedAt(s.top)
}

func (s *Search[T]) steps() error {
	grams := searchGrams(s.Words)
	if len(grams) == 0 || s.ListOnly {
		return s.scanList(maxCompared)
	}
	if s.Filtered {
		if err := s.scanList(maxFiltered); err != nil || s.done() {
			return err
		}
	}
	if _, err := s.scanIndex(spread(grams, firstGrams), firstPostings); err != nil {
		return err
	}
	for n := 4 * firstPostings; !s.done(); n = min(4*n, mostPostings) {
		var err error
		if grams, err = s.scanIndex(grams, n); err != nil {
			return err
		}
	}
	return nil
}

// add compares rows with the filters and words of the search, and adds the rows that match to found. The rows must be
// sorted by descending id. add stops when the page is full.
func (s *Search[T]) add(rows []T) {
	for _, row := range rows {
		if len(s.found) > s.limit {
			return
		}
		if s.Matches(row) && s.Contains(s.Text(row), s.Words) {
			s.found = append(s.found, row)
		}
	}
}

// scanList reads at most n rows from the filtered list, without using the index, and compares them. Often, the first of
// them fill the page.
func (s *Search[T]) scanList(n int) error {
	for batch := s.limit + 1; n > 0 && !s.done(); batch = min(4*batch, scanBatch) {
		limit := min(n, batch)
		var after *int64
		if s.top < math.MaxInt64 {
			after = new(s.top + 1)
		}
		rows, err := s.Page(limit, after)
		if err != nil {
			return err
		}
		s.add(rows)
		n, s.compared = n-len(rows), s.compared+len(rows)
		if len(rows) < limit {
			s.top = 0
		} else {
			s.top = s.ID(rows[len(rows)-1]) - 1
		}
	}
	return nil
}

// compareIDs reads the rows with the given ids, which must be sorted in descending order, and compares them.
func (s *Search[T]) compareIDs(ids []int64) error {
	for n := s.limit + 1; len(ids) > 0 && len(s.found) <= s.limit; n *= 2 {
		part := ids[:min(len(ids), n, scanBatch)]
		rows, err := rowsByID(s.Tx, s.Index, s.From, s.Columns, s.Scan, part)
		if err != nil {
			return err
		}
		slices.SortFunc(rows, func(a, b T) int { return cmp.Compare(s.ID(b), s.ID(a)) })
		s.add(rows)
		ids = ids[len(part):]
	}
	return nil
}
