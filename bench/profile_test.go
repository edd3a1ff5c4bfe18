package bench

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/jpeg"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
	"animalstore/internal/storeadmin"
)

var profiles = flag.Int64("profiles", 1_000_000, "the number of animals with profiles in TestProfiles")

// profileCase is a kind of page. It may cost at most limit times as much as a page of animals.
type profileCase struct {
	name, path string
	limit      float64
}

var profileCases = []profileCase{
	{"animals", "/v1/pets?limit=20&cursor=" + placeholder, 1},
	{"profiles", "/v1/profiles?limit=20&cursor=" + placeholder, 5},
	{"profiles by status", "/v1/profiles?limit=20&status=available&cursor=" + placeholder, 10},
	{"profiles by category", "/v1/profiles?limit=20&categoryId=7&cursor=" + placeholder, 10},
	{"profiles by id", "/v1/profiles?id=" + strings.Join(parts(20, func(i int) string { return fmt.Sprint(97*i + 1) }), "&id=") + "&cursor=" + placeholder, 10},
	{"profiles by publication", "/v1/profiles?limit=20&published=true&cursor=" + placeholder, 10},
	{"profiles not published", "/v1/profiles?limit=20&published=false&cursor=" + placeholder, 10},
	{"profiles by sex", "/v1/profiles?limit=20&sex=female&cursor=" + placeholder, 10},
	{"profiles by size", "/v1/profiles?limit=20&size=small&cursor=" + placeholder, 10},
	{"profiles by tag", "/v1/profiles?limit=20&tag=calm&cursor=" + placeholder, 10},
}

// TestProfiles compares pages of profiles with pages of animals, at random cursors. The cases take turns, and each is
// compared with the animals in the same round. An animal has a description of 300 characters and three photos. `make
// bench-profiles` runs it.
func TestProfiles(t *testing.T) {
	if *pairs == 0 {
		t.Skip("runs by hand: make bench-profiles")
	}
	binary := buildStatic(t)
	folder := programtest.NewFolderWithKey(t)
	file := filepath.Join(folder.Dir, "animalstore.db")
	fillProfiles(t, file)
	t.Run("SQLite", func(t *testing.T) { compareProfiles(t, start(t, newVersion, binary, folder, file)) })
	t.Run("PostgreSQL", func(t *testing.T) {
		url := pgtest.Start(t, append([]string{"shared_buffers=512MB", "max_wal_size=4GB"}, pgtest.Durable...)...).URL()
		if _, err := storeadmin.Copy(t.Context(), file, url, func(storeadmin.CopyProgress) {}); err != nil {
			t.Fatal(err)
		}
		pgtest.Connect(t, url).Do("VACUUM ANALYZE")
		compareProfiles(t, start(t, newVersion, binary, programtest.NewFolderWithKey(t), url))
	})
}

func compareProfiles(t *testing.T, s *subject) {
	t.Helper()
	cursors := parts(50_000, func(int) string { return formatCursor(*profiles/10 + mathrand.Int64N(*profiles*9/10)) })
	rates, latencies, processor := make([][]float64, len(profileCases)), make([][]float64, len(profileCases)), make([][]float64, len(profileCases))
	for turn := range *pairs + 1 {
		for i := range profileCases {
			if turn%2 == 1 {
				i = len(profileCases) - 1 - i
			}
			began := processorTime(t, s)
			got, err := request{method: "GET", path: profileCases[i].path, parts: func(int) []string { return cursors }}.load(t, s, turn)
			if err != nil {
				t.Fatalf("%s: %v", profileCases[i].name, err)
			}
			if turn > 0 { // the first turn fills the caches
				rates[i], latencies[i] = append(rates[i], got.perSecond), append(latencies[i], got.p99.Seconds()*1000)
				processor[i] = append(processor[i], (processorTime(t, s)-began).Seconds()*1000/got.perSecond/turnLength().Seconds())
			}
		}
	}
	ratios := func(values [][]float64, i int, dividend func(i int) int, divisor func(i int) int) float64 {
		var all []float64
		for turn := range values[i] {
			all = append(all, values[dividend(i)][turn]/values[divisor(i)][turn])
		}
		return median(all)
	}
	first, same := func(int) int { return 0 }, func(i int) int { return i }
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %d animals, %d turns of %v\tpages/s\tp99 ms\tms of the service's CPU\tcost\tCPU\tp99\tlimit\n", t.Name(), *profiles, *pairs, turnLength())
	for i, c := range profileCases {
		cost := ratios(rates, i, first, same)
		fmt.Fprintf(w, "%s\t%.0f\t%.1f\t%.3f\t%.2f\t%.2f\t%.2f\t%.0f\n", c.name, median(rates[i]), median(latencies[i]), median(processor[i]),
			cost, ratios(processor, i, same, first), ratios(latencies, i, same, first), c.limit)
		if cost > c.limit {
			t.Errorf("a page of %s costs %.1f times as much as a page of animals, want at most %.0f", c.name, cost, c.limit)
		}
	}
	w.Flush()
}

// processorTime returns how much time the processors have spent on the service.
func processorTime(t *testing.T, s *subject) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] { // in user mode and in the kernel
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// fillProfiles creates a store whose animals all have profiles and photos. The files of the photos have one byte, because
// lists do not read them.
func fillProfiles(t *testing.T, file string) {
	t.Helper()
	ctx := t.Context()
	err := shoptest.Fill(ctx, file, int(*profiles), func(id int64) shop.NewPet {
		return shop.NewPet{Name: fmt.Sprint("Animal ", id), CategoryID: id%20 + 1, Status: []shop.Status{shop.Available, shop.Available, shop.Pending, shop.Sold}[id%4]}
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.Open(ctx, file, sqlstore.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	const atOnce = 5_000
	for id := int64(1); id <= *profiles && err == nil; id += atOnce {
		err = store.Write(ctx, shop.Writing{}, func(tx shop.WriteTx) error { return insertProfiles(ctx, tx, id, min(id+atOnce, *profiles+1)) })
	}
	if err := errors.Join(err, shoptest.IndexSearch(ctx, store), store.Close()); err != nil {
		t.Fatal(err)
	}
}

func insertProfiles(ctx context.Context, tx shop.WriteTx, from, to int64) error {
	description, now := strings.Repeat("Loves long walks and short naps. ", 10)[:300], time.Now().UTC().Truncate(time.Microsecond)
	var updates []shop.ProfileUpdate
	for id := from; id < to; id++ {
		before := shop.Profile{Pet: shop.Pet{ID: id}}
		after := shop.Profile{Pet: before.Pet, Published: id%2 == 0, Description: description, Breeds: []string{"Beagle"}, UpdatedAt: now,
			Sex: []shop.Sex{shop.Female, shop.Male}[id/2%2], Size: []shop.Size{shop.Small, shop.Medium, shop.Large}[id%3], Tags: []string{[]string{"calm", "lively"}[id/4%2]}}
		for n := range int64(3) {
			photo := shop.Photo{ID: 3*id + n, Position: int(n) + 1, Name: fmt.Sprintf("%032x", 3*id+n), Width: 1600, Height: 1200, Bytes: 3, CreatedAt: now}
			if err := tx.InsertPhotoFiles(id, photo.Name, shop.PhotoFiles{shop.SmallPhoto: {1}, shop.MediumPhoto: {1}, shop.LargePhoto: {1}}); err != nil {
				return err
			}
			after.Photos = append(after.Photos, photo)
		}
		updates = append(updates, shop.ProfileUpdate{Before: before, After: after})
	}
	return errors.Join(tx.UpdateProfiles(updates...), tx.SetPhotoUsage(shop.PhotoUsage{Bytes: 9 * to, LastID: 3*to + 3}), ctx.Err())
}

// TestPhotos compares the service with a bare handler that sends the bytes of the same photo. `make bench-photos` runs it.
func TestPhotos(t *testing.T) {
	if *pairs == 0 {
		t.Skip("runs by hand: make bench-photos")
	}
	const least = 0.5
	binary := buildStatic(t)
	for engine, database := range map[string]func() string{
		"SQLite":     func() string { return "animalstore.db" },
		"PostgreSQL": func() string { return pgtest.Start(t, pgtest.Durable...).URL() },
	} {
		t.Run(engine, func(t *testing.T) {
			s := start(t, newVersion, binary, programtest.NewFolderWithKey(t), database())
			names := addPhotos(t, s, 12)
			for _, size := range shop.PhotoSizes() {
				load := request{method: "GET", path: "/photos/" + placeholder + "-" + string(size) + ".jpg", parts: func(int) []string { return names }}
				c := row{fmt.Sprintf("%s: %s photos of %d bytes", engine, size, len(load.record(t, s).body)), nil}
				c.samples = measure(t, benchCase{c.name, load.load, replay(load)}, []*subject{s}, true)
				ratio := median(c.ratios(bare))
				fmt.Printf("%s: %s, bare %s, ratio %.2f\n", c.name, c.figures(newVersion), c.figures(bare), ratio)
				if ratio < least {
					t.Errorf("%s: %.2f of the bare handler, want at least %.2f", c.name, ratio, least)
				}
			}
		})
	}
}

// addPhotos adds an animal with n photos that look the same, and returns the names of the photos.
func addPhotos(t *testing.T, s *subject, n int) (names []string) {
	t.Helper()
	img := image.NewYCbCr(image.Rect(0, 0, 1600, 1200), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = byte(i/img.YStride/8 + i%img.YStride/8 + mathrand.IntN(12)) // light that changes, and noise
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := s.send("POST", "/v1/pets", `{"name":"Rex","categoryId":7}`); err != nil || got.status != 201 {
		t.Fatalf("got %d %s (error %v)", got.status, got.body, err)
	}
	for range n {
		got, err := s.sendAs("image/jpeg", "POST", "/v1/pets/1/photos", file.String())
		_, rest, found := strings.Cut(string(got.body), `"small":"/photos/`)
		name, _, _ := strings.Cut(rest, "-")
		if err != nil || !found {
			t.Fatalf("got %d %s (error %v)", got.status, got.body, err)
		}
		names = append(names, name)
	}
	return names
}
