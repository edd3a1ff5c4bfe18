package shop

// PageRequest selects one page of a list. The page contains at most Limit items and starts after the item
// with the id After.
type PageRequest struct {
	Limit int
	After *int64 // the id of the last item on the previous page; nil selects the first page
	// AfterKey is the key of that item if the list is sorted by a key.
	AfterKey string
}

// Page is one page of a list. More is true if another page follows.
type Page[T any] struct {
	Items []T
	More  bool
	// Stopped is the position at which a search stopped before it had filled the page. If it is nil, the next
	// page starts after the last item.
	Stopped *int64
	// StoppedKey is the key at that position if the list is sorted by a key.
	StoppedKey string
}

// Next returns the position after which the next page starts. The page must have More set. id returns an
// item's position in the list.
func (p Page[T]) Next(id func(T) int64) int64 {
	if p.Stopped != nil {
		return *p.Stopped
	}
	return id(p.Items[len(p.Items)-1])
}

// oneMore requests one more item than the page has. The additional item shows that another page follows.
func (p PageRequest) oneMore() PageRequest {
	p.Limit++
	return p
}

// pageOf returns a page of at most limit items. items and err are the result of a list with one item more than that.
func pageOf[T any](limit int, items []T, err error) (Page[T], error) {
	if err != nil || len(items) <= limit {
		return Page[T]{Items: items}, err
	}
	return Page[T]{Items: items[:limit], More: true}, nil
}
