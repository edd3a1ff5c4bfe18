package cli

import "fmt"

// some says how much of a list is shown.
type some struct {
	Limit *int `xor:"limit" placeholder:"N" help:"The most to show (default 20)."`
	All   bool `xor:"limit" help:"Show all, however many there are."`
}

const defaultLimit = 20

func (s some) check() error {
	if s.Limit != nil && *s.Limit < 1 {
		return usagef("--limit: it must be 1 or more, not %d", *s.Limit)
	}
	return nil
}

func (s some) limit() int {
	if s.Limit == nil {
		return defaultLimit
	}
	return *s.Limit
}

// largestPage is the most that the API gives at once.
const largestPage = 100

// showPages prints a list page by page. It returns how many things it had, and where the page begins that was not shown.
func showPages[T any](s some, p *printer[T], page func(limit int, from string) (things []T, next string, err error)) (n int, next string, err error) {
	for {
		limit := largestPage
		if !s.All {
			limit = min(limit, s.limit()-n)
		}
		things, following, err := page(limit, next)
		if err != nil {
			return n, "", err
		}
		for _, thing := range things {
			if err := p.print(thing); err != nil {
				return n, "", err
			}
		}
		n, next = n+len(things), following
		if n > 0 { // a header alone says nothing
			if err := p.flush(); err != nil {
				return n, "", err
			}
		}
		if next == "" || !s.All && n >= s.limit() {
			return n, next, nil
		}
	}
}

// showList prints a list, and says what else there is to know of it.
func showList[T any](t terminal, s some, p *printer[T], things string, page func(limit int, from string) ([]T, string, error)) error {
	n, next, err := showPages(s, p, page)
	switch {
	case err != nil:
		return err
	case n == 0:
		fmt.Fprintf(t.err, "There are no %s.\n", things)
	case next != "":
		fmt.Fprintf(t.err, "There are more %s: --limit N shows N of them, --all shows all.\n", things)
	}
	return nil
}
