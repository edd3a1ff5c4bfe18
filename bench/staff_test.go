package bench

import (
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// listedAt is the time at which the profiles of listed animals were written.
var listedAt = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// maxStaffCost is how many times as long as in version 1.1 a page of the list of animals may take.
const maxStaffCost = 1.5

// TestStaffList compares the list of animals on the staff pages with that of version 1.1. Both versions have the same animals. In
// this version, each of them has a breed, a date of birth, a price and a photo. The versions take turns. `make bench-staff` runs it.
func TestStaffList(t *testing.T) {
	if *pairs == 0 {
		t.Skip("runs by hand: make bench-staff")
	}
	const name = "animalstore.db"
	binaries := map[string]string{newVersion: buildStatic(t), oldVersion: programtest.Version11.Build(t)}
	old := programtest.NewFolderWithKey(t)
	t.Run("fill", func(t *testing.T) {
		start(t, oldVersion, binaries[oldVersion], old, name).importFile(t, rows(int(*profiles)))
	})
	folder := programtest.NewFolderWithKey(t)
	if r := old.Shell("cp " + name + "* " + folder.Dir); r.Code != 0 {
		t.Fatal(r)
	}
	addListedProfiles(t, filepath.Join(folder.Dir, name))
	services := []*subject{start(t, newVersion, binaries[newVersion], folder, name), start(t, oldVersion, binaries[oldVersion], old, name)}
	cookies := map[*subject]string{}
	for _, s := range services {
		got, err := s.sendAs("application/x-www-form-urlencoded", "POST", "/staff/sign-in", "key="+programtest.AdminKey)
		if err != nil || got.status != 303 {
			t.Fatalf("%s: the sign-in got %d %s (error %v)", s.name, got.status, got.body, err)
		}
		cookies[s], _, _ = strings.Cut(got.header.Get("Set-Cookie"), ";")
	}
	positions := parts(10_000, func(int) string { return fmt.Sprintf("%07d", *profiles/10+mathrand.Int64N(*profiles*9/10)) })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%d animals, %d pairs of turns of %v\tthis version\tp99\t1.1\tp99\ttimes 1.1\tlimit\n", *profiles, *pairs, turnLength())
	for _, c := range []struct{ name, path, header string }{
		{"first page", "/staff/pets", ""},
		{"first page, compressed", "/staff/pets", "Accept-Encoding: gzip\r\n"},
		{"first page by status", "/staff/pets?status=sold", ""},
		{"further rows", "/staff/pets?from=" + placeholder, "HX-Request: true\r\n"},
	} {
		measured := measure(t, benchCase{c.name, func(t *testing.T, s *subject, turn int) (sample, error) {
			r := request{method: "GET", path: c.path, header: "Cookie: " + cookies[s] + "\r\n" + c.header, connections: 2}
			if strings.Contains(c.path, placeholder) {
				r.parts = func(int) []string { return positions }
			}
			return r.load(t, s, turn)
		}, nil}, services, false)
		row := row{c.name, measured}
		cost := 1 / median(row.ratios(oldVersion))
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.1f\n", c.name, row.figures(newVersion), row.figures(oldVersion), cost, maxStaffCost)
		if cost > maxStaffCost {
			t.Errorf("%s: it takes %.2f times as long as in version 1.1, want at most %.1f", c.name, cost, maxStaffCost)
		}
	}
	w.Flush()
}

// addListedProfiles adds what the list shows to all animals in a store. The photos have no files, because the list does not read
// them. The names and breeds are not indexed here, but when the service starts.
func addListedProfiles(t *testing.T, file string) {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), file, sqlstore.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const atOnce = 5_000
	for first := int64(1); first <= *profiles; first += atOnce {
		err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			var updates []shop.ProfileUpdate
			for id := first; id < min(first+atOnce, *profiles+1); id++ {
				photo := shop.Photo{ID: id, Position: 1, Name: fmt.Sprintf("%032x", id), Width: 1600, Height: 1200, Bytes: 3, CreatedAt: listedAt}
				updates = append(updates, shop.ProfileUpdate{Before: shop.Profile{Pet: shop.Pet{ID: id}}, After: shop.Profile{
					Pet: shop.Pet{ID: id}, Published: true, Description: strings.Repeat("Loves long walks and short naps. ", 10)[:300], Breeds: []string{"Beagle"},
					BirthDate: fmt.Sprintf("20%02d-%02d-11", 10+id%15, 1+id%12), Price: shop.Price{Amount: fmt.Sprintf("%d.00", 10+id%990), Currency: "EUR"},
					Photos: []shop.Photo{photo}, UpdatedAt: listedAt,
				}})
			}
			return tx.UpdateProfiles(updates...)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
