package sqlstore

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"animalstore/internal/shop"
)

// The limits for the work that one search does. A search that reaches one of them returns a short page.
const (
	maxCompared = 2000 // the number of texts that are compared
	maxPostings = 4096 // the number of rows that are read from the search index, each of at most 1 KB
	// maxFiltered is the number of rows of a filtered list that are compared before the index is used. Often, a filter
	// selects fewer rows than the words of the search do.
	maxFiltered = 200
	// maxChanges is the number of changed rows that are read at once.
	maxChanges = 200
	// scanBatch is the number of rows that are read at once without the index.
	scanBatch = 500
)

// searchable describes a list whose texts can be searched.
type searchable struct {
	table   string // the table that contains the list
	text    string // the column that is searched; it may be NULL
	index   string // the table with the search index
	changes string // the table with the rows that have changed since they were indexed
}

var (
	petNames        = &searchable{"pets", "name", "pet_search", "pet_search_changes"}
	orderReferences = &searchable{"orders", "reference", "order_search", "order_search_changes"}
	searchables     = []*searchable{petNames, orderReferences}
)

// SearchPets searches the names of pets.
func (t *tx) SearchPets(list shop.PetList) (shop.Page[shop.Pet], error) {
	status, category, noStatus := list.Status, list.CategoryID, list.NoStatus
	filtered := list.PetFilter
	filtered.Query = ""
	s := search[shop.Pet]{
		tx: t, of: petNames, columns: petColumns, scan: scanPets(),
		id:   func(p shop.Pet) int64 { return p.ID },
		text: func(p shop.Pet) string { return p.Name },
		page: func(page shop.PageRequest) ([]shop.Pet, error) {
			return t.Pets(shop.PetList{PetFilter: filtered, PageRequest: page})
		},
		filtered: status != "" || noStatus || category != nil,
		listOnly: len(list.IDs) > 0,
		matches: func(p shop.Pet) bool {
			return (status == "" || p.Status == status) && (!noStatus || p.Status == "") && (category == nil || p.CategoryID == *category)
		},
	}
	return s.run(list.Query, list.PageRequest)
}

// SearchOrders searches the references of orders.
func (t *tx) SearchOrders(list shop.OrderList) (shop.Page[shop.Order], error) {
	status, pet := list.Status, list.PetID
	s := search[shop.Order]{
		tx: t, of: orderReferences, columns: orderColumns, scan: scanOrder,
		id:   func(o shop.Order) int64 { return o.ID },
		text: func(o shop.Order) string { return o.Reference },
		page: func(page shop.PageRequest) ([]shop.Order, error) {
			return t.Orders(shop.OrderList{Status: status, PetID: pet, PageRequest: page})
		},
		filtered: status != "" || pet != nil,
		matches: func(o shop.Order) bool {
			return (status == "" || o.Status == status) && (pet == nil || o.PetID == *pet)
		},
	}
	return s.run(list.Query, list.PageRequest)
}

// search finds the rows of a list that contain all words of a text, newest first. The search index only narrows down
// the rows. Every text that may match is folded and compared here, so both engines return the same rows, even if the
// index contains ids of rows that do not match.
//
// The search proceeds from the highest id to the lowest. Each step handles all ids from top down to some lower id, so
// a search that stops early can be continued from there.
type search[T any] struct {
	tx       *tx
	of       *searchable
	columns  string
	scan     func(Scanner) (T, error)
	id       func(T) int64
	text     func(T) string
	matches  func(T) bool                        // whether a row matches the filters of the list
	page     func(shop.PageRequest) ([]T, error) // reads a page of the list with its filters
	filtered bool                                // whether the list has filters
	listOnly bool                                // whether the filters select only a few rows, so that no index is needed

	words    []string
	limit    int
	top      int64 // the highest id that has not been handled; the search is complete if top is less than 1
	found    []T   // at most limit+1 rows
	compared int
	postings int
}

// run returns the page of rows that contain all words of the text.
func (s *search[T]) run(text string, page shop.PageRequest) (shop.Page[T], error) {
	s.words, s.limit, s.top, s.found = shop.SearchWords(text), page.Limit, math.MaxInt64, []T{}
	if page.After != nil {
		s.top = *page.After - 1
		if *page.After == math.MinInt64 {
			s.top = 0
		}
	}
	if err := s.steps(); err != nil {
		return shop.Page[T]{}, err
	}
	switch {
	case len(s.found) > s.limit:
		return shop.Page[T]{Items: s.found[:s.limit], More: true}, nil
	case s.top >= 1:
		stopped := s.top + 1
		return shop.Page[T]{Items: s.found, More: true, Stopped: &stopped}, nil
	}
	return shop.Page[T]{Items: s.found}, nil
}

// done reports whether the page is full, the end of the list is reached, or a limit is exhausted.
func (s *search[T]) done() bool {
	return len(s.found) > s.limit || s.top < 1 || s.compared >= maxCompared || s.postings >= maxPostings
}

func (s *search[T]) steps() error {
	grams := searchGrams(s.words)
	if len(grams) == 0 || s.listOnly {
		return s.scanList(maxCompared)
	}
	if s.filtered {
		if err := s.scanList(maxFiltered); err != nil || s.done() {
			return err
		}
	}
	position, complete, err := s.tx.searchPosition(s.of)
	if err != nil {
		return err
	}
	for !complete && s.top > position && !s.done() {
		if err := s.scanUnindexed(position); err != nil {
			return err
		}
	}
	if s.done() {
		return nil
	}
	if _, err := s.scanIndex(spread(grams, firstGrams), firstPostings); err != nil {
		return err
	}
	for n := 4 * firstPostings; !s.done(); n = min(4*n, mostPostings) {
		if grams, err = s.scanIndex(grams, n); err != nil {
			return err
		}
	}
	return nil
}

// add compares rows with the filters and words of the search, and adds the rows that match to found. The rows must be
// sorted by descending id. add stops when the page is full.
func (s *search[T]) add(rows []T) {
	for _, row := range rows {
		if len(s.found) > s.limit {
			return
		}
		s.compared++
		if s.matches(row) && shop.ContainsWords(s.text(row), s.words) {
			s.found = append(s.found, row)
		}
	}
}

// scanList reads at most n rows from the filtered list, without using the index, and compares them.
func (s *search[T]) scanList(n int) error {
	for n > 0 && !s.done() {
		page := shop.PageRequest{Limit: min(n, scanBatch)}
		if s.top < math.MaxInt64 {
			page.After = new(s.top + 1)
		}
		rows, err := s.page(page)
		if err != nil {
			return err
		}
		s.add(rows)
		n -= len(rows)
		s.handled(rows, page.Limit, 0)
	}
	return nil
}

// scanUnindexed compares one batch of the rows whose ids are greater than position. These rows are not in the index
// yet.
func (s *search[T]) scanUnindexed(position int64) error {
	query := fmt.Sprintf("SELECT %s FROM %s WHERE id > $1 AND id <= $2 ORDER BY id DESC LIMIT %d", s.columns, s.of.table, scanBatch)
	rows, err := allUpTo(s.tx, 0, s.scan, query, position, s.top)
	if err != nil {
		return err
	}
	s.add(rows)
	s.handled(rows, scanBatch, position)
	return nil
}

// handled lowers top after rows have been compared. If there were fewer rows than limit, all ids above rest have been
// handled.
func (s *search[T]) handled(rows []T, limit int, rest int64) {
	if len(rows) < limit {
		s.top = rest
	} else {
		s.top = s.id(rows[len(rows)-1]) - 1
	}
}

// compareIDs reads the rows with the given ids, which must be sorted in descending order, and compares them.
func (s *search[T]) compareIDs(ids []int64) error {
	for n := s.limit + 1; len(ids) > 0 && len(s.found) <= s.limit; n *= 2 {
		part := ids[:min(len(ids), n, scanBatch)]
		rows, err := rowsByID(s.tx, s.of.table, s.columns, s.scan, part)
		if err != nil {
			return err
		}
		slices.SortFunc(rows, func(a, b T) int { return cmp.Compare(s.id(b), s.id(a)) })
		before := s.compared
		s.add(rows)
		s.compared = before + len(part) // compared counts removed rows, too, because they were looked up
		ids = ids[len(part):]
	}
	return nil
}
