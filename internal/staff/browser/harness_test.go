// Package browser tests the staff pages as people use them: in a real browser, on a real store.
package browser

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/demo"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
	"animalstore/internal/staff"
)

// screenshots is where TestScreenshots puts its pictures; empty: nowhere that stays.
var screenshots = flag.String("screenshots", "", "the folder for the pictures of the pages")

// openShop is a shop with its staff pages behind a real listener.
type openShop struct {
	t       *testing.T
	service *shop.Service
	url     string
	keys    int
	fill    func() int // makes it the demo, and returns how many animals that has
}

func newShop(t *testing.T, environment shop.Environment) *openShop {
	t.Helper()
	s := &openShop{t: t}
	database := filepath.Join(t.TempDir(), "test.db")
	store, err := sqlstore.Open(t.Context(), database, sqlstore.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	service, err := shop.Open(t.Context(), store, shop.Options{Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := staff.New(staff.Config{Service: service, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	working := make(chan struct{})
	go func() {
		defer close(working)
		service.RunJobs(t.Context(), func(err error) { t.Log("work:", err) })
	}()
	server := httptest.NewServer(pages)
	t.Cleanup(func() {
		pages.Stopping()
		server.Close()
		<-working
		store.Close()
	})
	s.service, s.url = service, server.URL
	s.fill = func() int {
		t.Helper()
		n, err := demo.Fill(t.Context(), store, database)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return s
}

// key makes a key with some scopes.
func (s *openShop) key(scopes ...shop.Scope) shop.IssuedKey {
	s.t.Helper()
	s.keys++
	key, err := s.service.CreateKey(s.t.Context(), shop.NewKey{Name: fmt.Sprintf("key %d of the tests", s.keys), Scopes: scopes})
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// add adds an animal, as somebody elsewhere does.
func (s *openShop) add(name string, status shop.Status) shop.Pet {
	s.t.Helper()
	pet, err := s.service.CreatePet(s.t.Context(), shop.NewPet{Name: name, CategoryID: 1, Status: status})
	if err != nil {
		s.t.Fatal(err)
	}
	return pet
}

// change changes an animal, as somebody elsewhere does.
func (s *openShop) change(id int64, change shop.PetChange) {
	s.t.Helper()
	if _, err := s.service.UpdatePet(s.t.Context(), id, change, nil); err != nil {
		s.t.Fatal(err)
	}
}

// person is somebody in front of a browser.
type person struct {
	*browsertest.Page
	t    *testing.T
	shop *openShop
}

const (
	desk  = 1280
	phone = 360
)

// visit opens a browser and signs in.
func (s *openShop) visit(width int, key string) *person {
	s.t.Helper()
	p := &person{browsertest.Open(s.t, width, 900), s.t, s}
	p.Run(emulation.SetDeviceMetricsOverride(int64(width), 900, 1, width == phone))
	p.open("/")
	p.write(`[name="key"]`, key+kb.Enter)
	p.see(".who")
	return p
}

func (p *person) open(path string) {
	p.t.Helper()
	p.Run(chromedp.Navigate(p.shop.url + path))
}

// click clicks on the one thing that a selector finds, once it is there. A row may be replaced by a newer one just then.
func (p *person) click(selector string) {
	p.t.Helper()
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			err := chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible).Do(ctx)
			if err == nil || !strings.Contains(err.Error(), "node") {
				return err
			}
		}
	}))
}

// write writes into a field, in the place of what is there.
func (p *person) write(selector, text string) {
	p.t.Helper()
	p.see(selector)
	p.Run(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%[1]q).focus(), document.querySelector(%[1]q).select()`, selector), nil), chromedp.KeyEvent(text))
}

// see waits until there is something to be seen.
func (p *person) see(selector string) {
	p.t.Helper()
	p.until(`!!document.querySelector(%[1]q) && document.querySelector(%[1]q).checkVisibility()`, selector)
}

// seeStill is see on a page without scripts.
func (p *person) seeStill(selector string) {
	p.t.Helper()
	p.Run(chromedp.WaitVisible(selector, chromedp.ByQuery))
}

// until waits until an expression is true, also while the page is replaced by another.
func (p *person) until(expression string, args ...any) {
	p.t.Helper()
	expression = fmt.Sprintf(expression, args...)
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			var done bool
			if err := chromedp.Evaluate(expression, &done).Do(ctx); err == nil && done {
				return nil
			}
			if err := chromedp.Sleep(30 * time.Millisecond).Do(ctx); err != nil {
				return err
			}
		}
		var body string
		chromedp.Evaluate("location + ' ' + document.activeElement.outerHTML.slice(0, 300) + ' ' + document.querySelector('main').innerText", &body).Do(ctx)
		return fmt.Errorf("it never became true that %s, on a page that says %s", expression, body)
	}))
}

// says waits until the page has a text.
func (p *person) says(selector, text string) {
	p.t.Helper()
	p.until(`[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, text)
}

// text is what a part of the page says.
func (p *person) text(selector string) string {
	p.t.Helper()
	return browsertest.Eval[string](p.Page, fmt.Sprintf(`(document.querySelector(%q) || {textContent: ""}).textContent.replace(/\s+/g, " ").trim()`, selector))
}

// has tells whether there is something now.
func (p *person) has(selector string) bool {
	p.t.Helper()
	return browsertest.Eval[bool](p.Page, fmt.Sprintf(`!!document.querySelector(%q)`, selector))
}
