package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// windowURL is the public URL of services whose shop window is attacked, so that there is a sitemap.
var windowURL = []string{"--public-url", "http://pets.example.com/v1"}

// fillWindow publishes all animals of a store and switches its shop window on.
func fillWindow(ctx context.Context, database string, animals int) error {
	store, err := sqlstore.Open(ctx, database, sqlstore.Options{})
	if err != nil {
		return err
	}
	return errors.Join(store.Write(ctx, shop.Writing{Budget: time.Minute}, func(tx shop.WriteTx) error {
		settings, err := tx.Settings()
		if err != nil {
			return err
		}
		shown := settings
		shown.Window.Enabled = true
		if err := tx.UpdateSettings(settings, shown); err != nil {
			return err
		}
		ids := make([]int64, animals)
		for i := range ids {
			ids[i] = int64(i) + 1
		}
		profiles, err := tx.ProfilesByID(ids)
		if err != nil {
			return err
		}
		updates := make([]shop.ProfileUpdate, len(profiles))
		for i, before := range profiles {
			after := before
			after.Published, after.UpdatedAt = true, time.Now()
			after.Description = "Friendly, and used to children. " + fmt.Sprint(i)
			after.Sex, after.Size = shop.Sexes()[i%2], shop.Sizes()[i%4]
			after.Tags = []string{"calm", fmt.Sprintf("tag %d", i%1000)}
			updates[i] = shop.ProfileUpdate{Before: before, After: after}
		}
		return tx.UpdateProfiles(updates...)
	}), store.Close())
}

// crowdOnWindow reads the first pages as fast as it can, as 200 visitors would.
func crowdOnWindow(a *attacker) {
	paths := []string{"/window", "/window", "/window?category=1", "/window/pets/1", "/window/animals.json"}
	var n atomic.Int64
	a.repeat(200, 0, func() {
		if a.request("GET", paths[n.Add(1)%int64(len(paths))], "", "Accept-Encoding: gzip") != http.StatusOK {
			a.sleep(busyPause)
		}
	})
}

// distinctWindowPages asks for pages that are not in the cache.
func distinctWindowPages(a *attacker) {
	var n atomic.Int64
	a.repeat(64, 2000, func() {
		i := n.Add(1)
		path := fmt.Sprintf("/window?sex=male&size=small&tag=tag+%d&tag=calm", i%100_000)
		if i%3 == 0 {
			path = fmt.Sprint("/window/pets/", 1_000_000_000+i)
		}
		if a.request("GET", path, "") == http.StatusServiceUnavailable {
			a.sleep(busyPause)
		}
	})
}

// unreadSitemaps asks for the largest response and does not read it.
func unreadSitemaps(a *attacker) {
	a.repeat(300, 300, func() { a.withoutReading(head("GET", "/window/sitemap.xml")) })
}

// unreadJSON asks for pages of JSON and does not read them.
func unreadJSON(a *attacker) {
	a.repeat(500, 500, func() { a.neverReading(head("GET", "/window/animals.json")) })
}

// unreadPhotos adds a photo, and then asks for it without reading it.
func unreadPhotos(a *attacker) {
	request := a.newRequest(a.ctx, "POST", "/v1/pets/1/photos", plainJPEG(3000, 2000, 3, 1), a.authorization(), "Content-Type: image/jpeg")
	response, err := a.client.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	var photo struct{ URLs struct{ Large string } }
	var body bytes.Buffer
	body.ReadFrom(response.Body) // an error makes the next step fail
	if err := json.Unmarshal(body.Bytes(), &photo); err != nil || photo.URLs.Large == "" {
		panic(fmt.Sprint(err, body.String()))
	}
	a.repeat(500, 500, func() { a.neverReading(head("GET", photo.URLs.Large)) })
}
