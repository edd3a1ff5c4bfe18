package shop

// PageRequest is the part of a list that is asked for: so many, going on from a position, in the order of the list.
type PageRequest struct {
	Limit int
	After *int64 // the id that the page before ended with; nil: from the beginning
}

// Page is one page of a list. More tells whether another page follows it.
type Page[T any] struct {
	Items []T
	More  bool
}

// pageOf makes a page of a list. It asks for one more than wanted, to see whether there is a next page.
func pageOf[T any](w PageRequest, list func(PageRequest) ([]T, error)) (Page[T], error) {
	items, err := list(PageRequest{w.Limit + 1, w.After})
	if err != nil || len(items) <= w.Limit {
		return Page[T]{Items: items}, err
	}
	return Page[T]{Items: items[:w.Limit], More: true}, nil
}
