package staff

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// keyBook is what the page of the keys shows.
type keyBook struct {
	Page    shop.Page[shop.Key]
	More    int64 // the last one of the page, where others follow; 0: none
	Issued  *shop.IssuedKey
	Rotated bool
	Name    string // of one that could not be made
	Chosen  map[shop.Scope]bool
	Problem string
}

func (p *Pages) keys(v *visit) error { return v.showKeys(http.StatusOK, keyBook{}) }

func (v *visit) showKeys(status int, book keyBook) (err error) {
	window := shop.PageRequest{Limit: pageLength}
	if from, err := strconv.ParseInt(v.r.URL.Query().Get("from"), 10, 64); err == nil {
		window.After = &from
	}
	if book.Page, err = v.Service.ListKeys(v.r.Context(), window); err != nil {
		return err
	}
	if items := book.Page.Items; book.Page.More {
		book.More = items[len(items)-1].ID
	}
	if book.Chosen == nil {
		book.Chosen = map[shop.Scope]bool{shop.PetsRead: true, shop.PetsWrite: true, shop.OrdersRead: true, shop.OrdersWrite: true, shop.EventsRead: true}
	}
	return v.show(status, "keys", "Keys", book)
}

// fail shows the keys again with what is wrong, where people can do something about it.
func (v *visit) failKeys(book keyBook, err error) error {
	if book.Problem = problemOf(err); book.Problem == "" {
		return err
	}
	return v.showKeys(statusOf(shop.AsError(err).Code), book)
}

func (p *Pages) addKey(v *visit) error {
	asked := shop.NewKey{Name: strings.TrimSpace(v.field("name"))}
	book := keyBook{Name: asked.Name, Chosen: map[shop.Scope]bool{}}
	for _, scope := range v.r.PostForm["scope"] {
		asked.Scopes = append(asked.Scopes, shop.Scope(scope))
		book.Chosen[shop.Scope(scope)] = true
	}
	if text := v.field("expires"); text != "" {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return v.failKeys(book, shop.Errorf(shop.ValidationFailed, "The last day must be a date such as 2030-12-31."))
		}
		asked.ExpiresAt = day.AddDate(0, 0, 1) // with the end of that day
	}
	issued, err := p.Service.CreateKey(v.context(), asked)
	if err != nil {
		return v.failKeys(book, err)
	}
	return v.showKeys(http.StatusOK, keyBook{Issued: &issued})
}

func (p *Pages) rotateKey(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	overlap, err := overlapOf(v.field("overlap"))
	if err != nil {
		return v.failKeys(keyBook{}, err)
	}
	issued, err := p.Service.RotateKey(v.context(), id, overlap)
	if err != nil {
		return v.failKeys(keyBook{}, err)
	}
	return v.showKeys(http.StatusOK, keyBook{Issued: &issued, Rotated: true})
}

// overlapOf reads for how many hours an old secret goes on working.
func overlapOf(text string) (time.Duration, error) {
	hours, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, shop.Errorf(shop.ValidationFailed, "Say for how many hours the old secret goes on working, from 0 to %d.", int(shop.MaxOverlap.Hours()))
	}
	return time.Duration(hours) * time.Hour, nil
}

func (p *Pages) revokeKey(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	if err := p.Service.RevokeKey(v.context(), id); err != nil {
		return v.failKeys(keyBook{}, err)
	}
	return v.goTo("/staff/keys")
}
