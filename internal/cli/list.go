package cli

import "fmt"

// limitFlags holds the flags for commands that print a list.
type limitFlags struct {
	Limit *int `xor:"limit" placeholder:"N" help:"Maximum number to show (default 20)."`
	All   bool `xor:"limit" help:"Show all of them."`
}

const defaultLimit = 20

func (s limitFlags) check() error {
	if s.Limit != nil && *s.Limit < 1 {
		return usagef("--limit: %d is out of range; expected 1 or more", *s.Limit)
	}
	return nil
}

func (s limitFlags) limit() int {
	if s.Limit == nil {
		return defaultLimit
	}
	return *s.Limit
}

// maxPageSize is the maximum number of items per page that the API allows.
const maxPageSize = 100

// pageFunc returns one page of a list and the cursor for the next page. The cursor is "" if this is the last
// page.
type pageFunc[T any] func(limit int, cursor string) (items []T, next string, err error)

// printPages prints a list page by page. It returns the number of items that it printed and the cursor for
// the next page, or "" if there is none.
func printPages[T any](s limitFlags, p *printer[T], page pageFunc[T]) (n int, cursor string, err error) {
	for {
		limit := maxPageSize
		if !s.All {
			limit = min(limit, s.limit()-n)
		}
		items, next, err := page(limit, cursor)
		if err != nil {
			return n, "", err
		}
		for _, item := range items {
			if err := p.print(item); err != nil {
				return n, "", err
			}
		}
		n, cursor = n+len(items), next
		if n > 0 { // without items, only the header would be printed
			if err := p.flush(); err != nil {
				return n, "", err
			}
		}
		if cursor == "" || !s.All && n >= s.limit() {
			return n, cursor, nil
		}
	}
}

// printList prints a list. It also prints a note if the list is empty or has more items than were printed.
// The noun is the plural word for the items, such as "orders".
func printList[T any](t terminal, s limitFlags, p *printer[T], noun string, filtered bool, page pageFunc[T]) error {
	n, next, err := printPages(s, p, page)
	switch {
	case err != nil:
		return err
	case n == 0:
		return printEmpty(t, noun, filtered)
	case next != "":
		fmt.Fprintf(t.err, "There are more %s; show them with --limit N or --all.\n", noun)
	}
	return nil
}

// printEmpty prints a note saying that the list is empty.
func printEmpty(t terminal, noun string, filtered bool) error {
	note := "No " + noun + " yet."
	if filtered {
		note = "No " + noun + " match."
	}
	_, err := fmt.Fprintln(t.err, note)
	return err
}
