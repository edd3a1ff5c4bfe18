package shop

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldSearch maps texts that differ only in letter case or diacritics to the same text, for all of Unicode. Both
// database engines search in texts that FoldSearch has folded, because their own functions handle only ASCII or
// depend on the locale.
func FoldSearch(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	plain := strings.Map(func(r rune) rune {
		if isDiacritic(r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
	// cases.Fold replaces some letters, such as ß, with several letters. Fold then maps the letters that differ only in
	// case to one of them. Composing the text again joins the Hangul syllables that NFD has split, so that a search
	// does not find parts of a syllable.
	return norm.NFC.String(strings.Map(withoutStroke, Fold(cases.Fold().String(plain))))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isDiacritic reports whether r is a mark that a search ignores. The vowel signs of Indic and Thai letters are marks,
// too, but have the combining class 0. A search does not ignore them, because a word without them is a different
// word.
func isDiacritic(r rune) bool {
	return unicode.Is(unicode.Mn, r) && (norm.NFD.PropertiesString(string(r)).CCC() != 0 || unicode.Is(unicode.Variation_Selector, r))
}

// withoutStroke removes the stroke from letters such as Ø, which Unicode does not decompose into a letter and a mark.
// It also replaces U+0345, the mark to which Fold maps the letter iota, with that letter.
func withoutStroke(r rune) rune {
	switch r {
	case '\u0345':
		return 'Ι'
	case 'Ø':
		return 'O'
	case 'Ł':
		return 'L'
	case 'Đ':
		return 'D'
	case 'Ħ':
		return 'H'
	case 'Ŧ':
		return 'T'
	}
	return r
}

// SearchWords returns the folded words of a search text.
func SearchWords(text string) []string { return strings.Fields(FoldSearch(text)) }

// ContainsWords reports whether the text contains all of the words, in any order. The words must already be folded.
func ContainsWords(text string, words []string) bool {
	folded := FoldSearch(text)
	for _, word := range words {
		if !strings.Contains(folded, word) {
			return false
		}
	}
	return true
}

// listPets returns one page of animals. With a search text, the work for one page is bounded, so the page may have
// fewer items than the limit, or none, even if more pages follow.
func listPets(tx ReadTx, list PetList) (Page[Pet], error) {
	if list.Query != "" {
		return tx.SearchPets(list)
	}
	return pageOf(list.PageRequest, func(page PageRequest) ([]Pet, error) {
		return tx.Pets(PetList{list.PetFilter, page, list.OldestFirst})
	})
}

// listOrders is like listPets, but for orders.
func listOrders(tx ReadTx, list OrderList) (Page[Order], error) {
	if list.Query != "" {
		return tx.SearchOrders(list)
	}
	return pageOf(list.PageRequest, func(page PageRequest) ([]Order, error) {
		list.PageRequest = page
		return tx.Orders(list)
	})
}

// SearchReader contains the methods of ReadTx for searches. SearchPets and SearchOrders find the items whose text
// contains every word of list.Query, newest first, and do a bounded amount of work. If a search stops before it has
// found list.Limit items or reached the end, Page.Stopped says where.
type SearchReader interface {
	// SearchPets searches the names of animals.
	SearchPets(list PetList) (Page[Pet], error)
	// SearchOrders searches the references of orders.
	SearchOrders(list OrderList) (Page[Order], error)
	// HasUnindexed reports whether there are animals, orders or names of categories that are not indexed yet.
	HasUnindexed() (bool, error)
	// CountUnindexed counts the animals, orders and names of categories that are not indexed yet.
	CountUnindexed() (int64, error)
}

// SearchBookkeeping contains the methods of Bookkeeping that maintain the search index.
type SearchBookkeeping interface {
	// IndexSearch adds a limited number of new and changed animals and orders to the search index. It also indexes a
	// limited number of names of categories that an earlier version wrote. A batch may take several transactions. The
	// first one gets nil, and each of the others gets the unfinished rest that the previous one returned. Only one
	// batch of a store may be in progress on a node.
	IndexSearch(unfinished IndexBatch) (IndexResult, error)
}

// IndexBatch is the rest of a batch of IndexSearch that has not been written yet. Only the store knows what it
// contains.
type IndexBatch any

// IndexResult is the result of one call of IndexSearch.
type IndexResult struct {
	Indexed    int64      // the number of animals, orders and names of categories that this call has indexed
	More       bool       // whether there may be more to index
	Unfinished IndexBatch // the rest of the batch, or nil if everything has been written
	OthersWait bool       // whether other writes are waiting for this transaction
}

// IndexProgress is the progress of the job that maintains the search index.
type IndexProgress struct {
	Indexed int64 // the number of animals, orders and names of categories that this node has indexed
	Left    int64 // the number of animals, orders and names of categories that are not indexed yet
}

// IndexProgress returns the progress as of the last report, which is at most indexReportInterval old while
// animals are being indexed.
func (s *Service) IndexProgress() IndexProgress {
	s.indexing.mu.Lock()
	defer s.indexing.mu.Unlock()
	return s.indexing.progress
}

// indexing is the state of the job that maintains the search index.
type indexing struct {
	running    sync.Mutex    // held during a run of IndexSearch, so that there is only one at a time
	unfinished IndexBatch    // the rest of the batch that the last run began, or nil; protected by running
	again      chan struct{} // a value in this channel starts the next run at once

	mu       sync.Mutex // protects the fields below
	progress IndexProgress
	reported time.Time
}

const (
	// indexSteps is the maximum number of transactions in one run of IndexSearch. A run reports its progress at its
	// end.
	indexSteps = 20
	// indexPause is how long IndexSearch pauses after a transaction if other writes are waiting, as a multiple
	// of the transaction's duration. IndexSearch therefore uses at most a quarter of a busy writer's time.
	indexPause = 3
	// indexReportInterval is how often IndexSearch reports its progress while it has more to do.
	indexReportInterval = 5 * time.Second
)

// IndexSearch adds new and changed animals and orders to the search index, in small transactions. Until a text is in
// the index, searches have to compare it separately. IndexSearch also indexes names of categories that an earlier
// version wrote. When ctx ends, it completes its current transaction and starts no other, so that the program ends
// soon.
func (s *Service) IndexSearch(ctx context.Context) error {
	i, work := &s.indexing, context.WithoutCancel(ctx)
	i.running.Lock()
	defer i.running.Unlock()
	more, err := read(work, s, ReadTx.HasUnindexed) // a read costs less than a write that finds nothing to do
	if err != nil {
		return err
	}
	indexed := int64(0)
	for step := 0; more && step < indexSteps; step++ {
		start := time.Now()
		var result IndexResult
		err := s.bookkeep(work, func(tx BookkeepingTx) (err error) {
			result, err = tx.IndexSearch(i.unfinished)
			return err
		})
		if err != nil {
			return err
		}
		i.unfinished, more, indexed = result.Unfinished, result.More, indexed+result.Indexed
		if result.OthersWait {
			select {
			case <-time.After(indexPause * time.Since(start)):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if more {
		select {
		case i.again <- struct{}{}:
		default: // the next run will start at once anyway
		}
	}
	return s.reportIndexing(work, indexed, more)
}

// reportIndexing updates the progress after a run that has indexed the given number of animals, orders and
// category names. If many runs are needed, as in a store from an earlier version, it also passes the progress to
// Options.OnIndexing from time to time.
func (s *Service) reportIndexing(ctx context.Context, indexed int64, more bool) error {
	i, now, left := &s.indexing, s.clock(), int64(0)
	i.mu.Lock()
	i.progress.Indexed += indexed
	behind, due := i.progress.Left > 0, now.Sub(i.reported).Abs() >= indexReportInterval
	i.mu.Unlock()
	switch {
	case more && !due, !more && !behind:
		return nil
	case more:
		var err error
		if left, err = read(ctx, s, ReadTx.CountUnindexed); err != nil {
			return err
		}
	}
	i.mu.Lock()
	i.progress.Left, i.reported = left, now
	progress := i.progress
	i.mu.Unlock()
	if s.onIndexing != nil {
		s.onIndexing(progress)
	}
	return nil
}
