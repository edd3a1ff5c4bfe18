package shop

// PageRequest selects one page of a list by keyset: at most Limit items that follow After in the order of the
// list.
type PageRequest struct {
	Limit int
	After *int64 // the last id of the previous page; nil starts at the beginning
}

// Page is one page of a list. More reports whether another page follows.
type Page[T any] struct {
	Items []T
	More  bool
}

// pageOf reads one page. It requests one item more than the limit to learn whether another page follows.
func pageOf[T any](page PageRequest, list func(PageRequest) ([]T, error)) (Page[T], error) {
	items, err := list(PageRequest{page.Limit + 1, page.After})
	if err != nil || len(items) <= page.Limit {
		return Page[T]{Items: items}, err
	}
	return Page[T]{Items: items[:page.Limit], More: true}, nil
}
