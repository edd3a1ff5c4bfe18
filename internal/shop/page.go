package shop

// PageRequest selects one page of a list. The page contains at most Limit items and starts after the item
// with the id After.
type PageRequest struct {
	Limit int
	After *int64 // the id of the last item on the previous page; nil selects the first page
}

// Page is one page of a list. More is true if another page follows.
type Page[T any] struct {
	Items []T
	More  bool
	// Stopped is the position at which a search stopped before it had filled the page. If it is nil, the next
	// page starts after the last item.
	Stopped *int64
}

// Next returns the position after which the next page starts. The page must have More set. id returns an
// item's position in the list.
func (p Page[T]) Next(id func(T) int64) int64 {
	if p.Stopped != nil {
		return *p.Stopped
	}
	return id(p.Items[len(p.Items)-1])
}

// pageOf reads one page. It requests one more item than the limit to find out whether another page follows.
func pageOf[T any](page PageRequest, list func(PageRequest) ([]T, error)) (Page[T], error) {
	items, err := list(PageRequest{page.Limit + 1, page.After})
	if err != nil || len(items) <= page.Limit {
		return Page[T]{Items: items}, err
	}
	return Page[T]{Items: items[:page.Limit], More: true}, nil
}
