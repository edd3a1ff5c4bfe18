package window

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

const (
	jsonLimit    = 100
	feedLimit    = 100
	sitemapLimit = 50_000
)

// sendJSON sends a page of the animals as a bare array.
func (x *exchange) sendJSON() error {
	q, err := parseQuery(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	q.embed = false
	r, err := x.cached("json"+q.encode(), func(ctx context.Context, valid *shop.Validity) (*response, error) {
		page, err := x.Service.WindowFeed(ctx, q.WindowFilter, q.page(jsonLimit), valid)
		if err != nil {
			return nil, err
		}
		type animal struct {
			shop.WindowPet
			URL string `json:"url"`
		}
		animals := make([]animal, len(page.Items))
		for i, pet := range page.Items {
			animals[i] = animal{pet, cmp.Or(x.absolute(petPath(pet.Pet.ID)), x.at(petPath(pet.Pet.ID)))}
		}
		body, err := json.Marshal(animals)
		if err != nil {
			return nil, err
		}
		r := newResponse(http.StatusOK, jsonType, append(shop.AbsolutePhotoURLs(body, shop.PhotoBase(x.PublicURL)), '\n'))
		if next := q.next(page.Page); next != "" {
			r.next = cmp.Or(x.absolute(root+"/animals.json"), x.at(root+"/animals.json")) + next
		}
		return r, nil
	})
	if err != nil {
		return err
	}
	return x.send(r)
}

// The elements of an Atom feed (RFC 4287).
type (
	atomFeed struct {
		XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string      `xml:"id"`
		Title   string      `xml:"title"`
		Updated string      `xml:"updated"`
		Author  atomAuthor  `xml:"author"`
		Links   []atomLink  `xml:"link"`
		Entries []atomEntry `xml:"entry"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr,omitempty"`
		Href string `xml:"href,attr"`
	}
	atomEntry struct {
		ID         string         `xml:"id"`
		Title      string         `xml:"title"`
		Updated    string         `xml:"updated"`
		Links      []atomLink     `xml:"link"`
		Categories []atomCategory `xml:"category"`
		Summary    string         `xml:"summary"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
)

// sendFeed sends the newest animals as an Atom feed.
func (x *exchange) sendFeed() error {
	r, err := x.cached("feed", func(ctx context.Context, valid *shop.Validity) (*response, error) {
		page, err := x.Service.WindowFeed(ctx, shop.WindowFilter{}, shop.PageRequest{Limit: feedLimit}, valid)
		if err != nil {
			return nil, err
		}
		v, updated := x.view(page.Settings, false), time.Unix(0, 0)
		feed := atomFeed{
			ID: x.absolute(root + "/feed.xml"), Title: v.Heading(), Author: atomAuthor{v.Sitename()},
			Links: []atomLink{{"self", "application/atom+xml", x.absolute(root + "/feed.xml")}, {"alternate", "text/html", x.absolute(root)}},
		}
		for _, pet := range page.Items {
			if pet.UpdatedAt.After(updated) {
				updated = pet.UpdatedAt
			}
			feed.Entries = append(feed.Entries, x.entry(v, pet, page.Today))
		}
		feed.Updated = updated.UTC().Format(time.RFC3339Nano)
		body, err := encodeXML(feed)
		return newResponse(http.StatusOK, atomType, bytes.Clone(body)), err
	})
	if err != nil {
		return err
	}
	return x.send(r)
}

func (x *exchange) entry(v view, pet shop.WindowPet, today shop.Date) atomEntry {
	url := x.absolute(petPath(pet.Pet.ID))
	e := atomEntry{ID: url, Title: pet.Pet.Name, Updated: pet.UpdatedAt.UTC().Format(time.RFC3339Nano), Links: []atomLink{{"alternate", "text/html", url}}}
	if cover := x.cover(pet); cover != nil {
		e.Links = append(e.Links, atomLink{"enclosure", "image/jpeg", cover.URL})
	}
	if pet.Category != "" {
		e.Categories = append(e.Categories, atomCategory{pet.Category})
	}
	parts := []string{summary(pet, today)}
	if pet.IsReserved() {
		parts = append(parts, "Reserved")
	}
	if price := formatPrice(pet.Price); price != "" {
		parts = append(parts, v.PriceWord()+": "+price)
	}
	e.Summary = strings.Trim(strings.Join(parts, ". ")+"\n\n"+pet.Description, "\n. ")
	return e
}

// sendSitemap sends the addresses of the pages of the newest animals. It is the largest response, so it is made as compactly as
// possible, and one at a time.
func (x *exchange) sendSitemap() error {
	slot, err := x.Limits.HoldSent(admission.Sitemaps, 1)
	if err != nil {
		return errBusy()
	}
	defer slot.Release()
	r, err := x.read(func(ctx context.Context, valid *shop.Validity) (*response, error) {
		rows, err := x.Service.WindowRows(ctx, sitemapLimit-1, valid)
		if err != nil {
			return nil, err
		}
		address := html.EscapeString(x.absolute(root))
		const perRow = len("<url><loc>/pets/9223372036854775807</loc><lastmod>2006-01-02T15:04:05.999999Z</lastmod></url>\n")
		body := make([]byte, 0, (len(rows)+4)*(perRow+len(address)))
		body = append(body, xml.Header+`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`+"\n<url><loc>"+address+"</loc></url>\n"...)
		for _, row := range rows {
			body = strconv.AppendInt(append(append(append(body, "<url><loc>"...), address...), "/pets/"...), row.ID, 10)
			body = append(row.UpdatedAt.UTC().AppendFormat(append(body, "</loc><lastmod>"...), time.RFC3339Nano), "</lastmod></url>\n"...)
		}
		return newResponse(http.StatusOK, sitemapType, append(body, "</urlset>\n"...)), nil
	}, nil)
	if err != nil {
		return err
	}
	return x.send(r)
}

func encodeXML(document any) ([]byte, error) {
	var text bytes.Buffer
	text.WriteString(xml.Header)
	err := xml.NewEncoder(&text).Encode(document)
	text.WriteByte('\n')
	return text.Bytes(), err
}
