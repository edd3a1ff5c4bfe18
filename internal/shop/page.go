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
}

// pageOf reads one page. It requests one more item than the limit to find out whether another page follows.
func pageOf[T any](page PageRequest, list func(PageRequest) ([]T, error)) (Page[T], error) {
	items, err := list(PageRequest{page.Limit + 1, page.After})
	if err != nil || len(items) <= page.Limit {
		return Page[T]{Items: items}, err
	}
	return Page[T]{Items: items[:page.Limit], More: true}, nil
}
