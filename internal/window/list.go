package window

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

// petsPerPage is the number of animals on a page. It fills rows of 2, 3 and 4.
const petsPerPage = 24

// listData is the template data for the page of all animals.
type listData struct {
	shop.WindowPage
	Categories []choice
	Filters    []filter // besides the categories
	IsFiltered bool     // by anything but a category
	AnyFilter  bool
	Reset      string // the path and query without filters
	First      string // the path and query of the first page, if this is not the first
	Next       string // the path and query of the next page, or ""
}

// filter is a group of choices.
type filter struct {
	Label   string
	Choices []choice
}

// choice is a link that filters the animals, or that removes the filter if it is current.
type choice struct {
	Label   string
	URL     string
	Current bool
	IsName  bool // whether somebody has typed the label
}

func (x *exchange) showList() error {
	q, err := parseQuery(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	r, err := x.cached("list"+q.encode(), func(ctx context.Context, valid *shop.Validity) (*response, error) {
		page, err := x.Service.Window(ctx, shop.Preview(x.preview), q.WindowFilter, q.page(petsPerPage), valid)
		if err != nil {
			return nil, err
		}
		v := x.view(page.Settings, q.embed)
		v.Title, v.Today, v.Canonical = v.Heading(), page.Today, x.absolute(root+q.with(func(q *query) { q.embed = false }).encode())
		v.Description = firstWords(page.Window.Introduction)
		if len(page.Items) > 0 {
			v.Image = x.cover(page.Items[0])
		}
		data := listData{
			WindowPage: page, IsFiltered: q.Sex != "" || q.Size != "" || len(q.Tags) > 0, AnyFilter: q.isFiltered(),
			Reset: x.list(query{embed: q.embed}), Categories: x.categoryChoices(q, page.Choices), Filters: x.filters(q, page.Choices),
		}
		if next := q.next(page.Page); next != "" {
			data.Next = x.at(root) + next
		}
		if q.after != nil {
			data.First = x.list(q.with(func(*query) {}))
		}
		v.Data = data
		return x.page(http.StatusOK, "list", v)
	})
	if err != nil {
		return err
	}
	return x.send(r)
}

// list returns the path of a list with its query.
func (x *exchange) list(q query) string { return x.at(root) + q.encode() }

func (x *exchange) categoryChoices(q query, c shop.WindowChoices) []choice {
	if len(c.Categories) < 2 && q.CategoryID == nil {
		return nil
	}
	choices := []choice{{Label: "All", URL: x.list(q.with(func(q *query) { q.CategoryID = nil })), Current: q.CategoryID == nil}}
	for _, category := range c.Categories {
		choices = append(choices, choice{
			Label: category.Name, IsName: true, Current: q.CategoryID != nil && *q.CategoryID == category.ID,
			URL: x.list(q.with(func(q *query) { q.CategoryID = &category.ID })),
		})
	}
	return choices
}

// filters returns the filters that make a difference, and those that are set.
func (x *exchange) filters(q query, c shop.WindowChoices) (filters []filter) {
	sex := filter{Label: "Sex"}
	for _, value := range c.Sexes {
		sex.Choices = append(sex.Choices, choice{Label: capitalized(string(value)), Current: q.Sex == value, URL: x.list(q.with(func(q *query) {
			q.Sex = toggled(q.Sex, value)
		}))})
	}
	size := filter{Label: "Size"}
	for _, value := range c.Sizes {
		size.Choices = append(size.Choices, choice{Label: sizeWord(value), Current: q.Size == value, URL: x.list(q.with(func(q *query) {
			q.Size = toggled(q.Size, value)
		}))})
	}
	tags := filter{Label: "Tags"}
	for _, tag := range allTags(q.Tags, c.Tags) {
		same := func(other string) bool { return shop.CategoryKey(other) == shop.CategoryKey(tag) }
		current := slices.ContainsFunc(q.Tags, same)
		tags.Choices = append(tags.Choices, choice{Label: strings.TrimSpace(tag), IsName: true, Current: current, URL: x.list(q.with(func(q *query) {
			if q.Tags = slices.Clone(q.Tags); current {
				q.Tags = slices.DeleteFunc(q.Tags, same)
			} else {
				q.Tags = append(q.Tags, tag)
			}
		}))})
	}
	for _, f := range []filter{sex, size, tags} {
		isSet := slices.ContainsFunc(f.Choices, func(c choice) bool { return c.Current })
		if len(f.Choices) > 1 || isSet {
			filters = append(filters, f)
		}
	}
	return filters
}

// allTags returns the tags that are set, and then the others that can be.
func allTags(set, offered []string) []string {
	all := slices.Clone(set)
	for _, tag := range offered {
		if !slices.ContainsFunc(set, func(other string) bool { return shop.CategoryKey(other) == shop.CategoryKey(tag) }) {
			all = append(all, tag)
		}
	}
	return all
}

// toggled returns the value of a filter after a click on one of its choices.
func toggled[T cmp.Ordered](now, clicked T) (next T) {
	if now != clicked {
		next = clicked
	}
	return next
}
