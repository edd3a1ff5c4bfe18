package cli

import "fmt"

// limitFlags are the flags of commands that print a list.
type limitFlags struct {
	Limit *int `xor:"limit" placeholder:"N" help:"The most to show (default 20)."`
	All   bool `xor:"limit" help:"Show all, however many there are."`
}

const defaultLimit = 20

func (s limitFlags) check() error {
	if s.Limit != nil && *s.Limit < 1 {
		return usagef("--limit: it must be 1 or more, not %d", *s.Limit)
	}
	return nil
}

func (s limitFlags) limit() int {
	if s.Limit == nil {
		return defaultLimit
	}
	return *s.Limit
}

// maxPageSize is the API's maximum.
const maxPageSize = 100

// printPages prints a list page by page. It returns how many items it printed, and the cursor of the next
// page, or "".
func printPages[T any](s limitFlags, p *printer[T], page func(limit int, from string) (things []T, next string, err error)) (n int, next string, err error) {
	for {
		limit := maxPageSize
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
		if n > 0 { // do not print a header alone
			if err := p.flush(); err != nil {
				return n, "", err
			}
		}
		if next == "" || !s.All && n >= s.limit() {
			return n, next, nil
		}
	}
}

// printList prints a list, and a note if it is empty or was cut off.
func printList[T any](t terminal, s limitFlags, p *printer[T], things string, page func(limit int, from string) ([]T, string, error)) error {
	n, next, err := printPages(s, p, page)
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
