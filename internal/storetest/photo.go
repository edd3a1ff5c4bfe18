package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// photoFiles returns the files of a photo. Their contents are all bytes, and the largest has more than a page.
func photoFiles(seed byte) shop.PhotoFiles {
	files := shop.PhotoFiles{}
	for i, size := range shop.PhotoSizes() {
		content := []byte{seed}
		for len(content) < 1+i*150_000 {
			content = append(content, byte(len(content)*7)^seed)
		}
		files[size] = content
	}
	return files
}

const photoFilesBytes = 1 + 150_001 + 300_001 // of the files that photoFiles returns

// addPhoto adds a photo to an animal in the given transaction, as the service does.
func addPhoto(tx shop.WriteTx, petID int64, name, alt string) (shop.Photo, error) {
	before, _, err := tx.Profile(petID)
	if err != nil {
		return shop.Photo{}, err
	}
	usage, err := tx.PhotoUsage()
	if err != nil {
		return shop.Photo{}, err
	}
	photo := shop.Photo{
		ID: usage.LastID + 1, Position: len(before.Photos) + 1, Name: name, Alt: alt, Width: 1600, Height: 1067, Bytes: photoFilesBytes, CreatedAt: noonOf2026,
	}
	if err := tx.SetPhotoUsage(shop.PhotoUsage{Bytes: usage.Bytes + photo.Bytes, LastID: photo.ID}); err != nil {
		return photo, err
	}
	if err := tx.InsertPhotoFiles(petID, name, photoFiles(name[0])); err != nil {
		return photo, err
	}
	after := before
	after.Photos, after.UpdatedAt = append(slices.Clip(before.Photos), photo), noonOf2026
	return photo, tx.UpdateProfiles(shop.ProfileUpdate{Before: before, After: after})
}

// changeProfile changes the profile of an animal that has photos.
func changeProfile(t *testing.T, store shop.Store, petID int64, change func(*shop.Profile)) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error {
		before, _, err := tx.Profile(petID)
		if err != nil {
			return err
		}
		after := before
		change(&after)
		return tx.UpdateProfiles(shop.ProfileUpdate{Before: before, After: after})
	})
}

// wantPhotoFiles checks whether the files of a photo can be read.
func wantPhotoFiles(t *testing.T, store shop.Store, name string, want bool) {
	t.Helper()
	for size, content := range photoFiles(name[0]) {
		read(t, store, func(tx shop.ReadTx) error {
			got, found, err := tx.PhotoFile(name, size)
			if err != nil {
				return err
			}
			has, err := tx.HasPhotoFile(name, size)
			if found != want || has != want || want && !bytes.Equal(got, content) {
				t.Errorf("photo %s, %s: found %v, has %v with %d bytes, want %v with %d", name, size, found, has, len(got), want, len(content))
			}
			return err
		})
	}
}

func wantPhotoUsage(t *testing.T, store shop.Store, photos, lastID int64) {
	t.Helper()
	want := shop.PhotoUsage{Bytes: photos * photoFilesBytes, LastID: lastID}
	if got := get(t, store, func(tx shop.ReadTx) (shop.PhotoUsage, error) { return tx.PhotoUsage() }); got != want {
		t.Errorf("the usage is %+v, want %+v", got, want)
	}
}

var photoCases = []testCase{
	{name: "photos are stored in their order", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		wantPhotoUsage(t, store, 0, 0)
		var photos []shop.Photo
		write(t, store, func(tx shop.WriteTx) error {
			photos = nil
			for i, alt := range []string{"", " Rex  sleeps ", strings.Repeat("🐕", 200)} {
				photo, err := addPhoto(tx, pet.ID, string(rune('a'+i)), alt)
				if err != nil {
					return err
				}
				photos = append(photos, photo)
			}
			return nil
		})
		profile := shop.Profile{Pet: pet, Photos: photos, UpdatedAt: noonOf2026}
		wantProfile(t, store, profile)
		wantPhotoUsage(t, store, 3, 3)
		for _, photo := range photos {
			wantPhotoFiles(t, store, photo.Name, true)
		}
		wantPhotoFiles(t, store, "d", false)
		before := profile
		profile.Photos = []shop.Photo{photos[2], photos[0]}
		for i := range profile.Photos {
			profile.Photos[i].Position = i + 1
		}
		write(t, store, func(tx shop.WriteTx) error {
			if err := tx.DeletePhotoFiles(photos[1]); err != nil {
				return err
			}
			return tx.UpdateProfiles(shop.ProfileUpdate{Before: before, After: profile})
		})
		wantProfile(t, store, profile)
		wantPhotoFiles(t, store, "b", false)
		wantPhotoFiles(t, store, "c", true)
		if list := listProfiles(t, store, shop.ProfileFilter{}, 10); len(list) != 1 || !slices.Equal(list[0].Photos, profile.Photos) {
			t.Errorf("the list has the photos %+v", list)
		}
	}},

	{name: "available animals without a photo are found among the newest", run: func(t *testing.T, store shop.Store) {
		var pets []shop.Pet
		for _, status := range []shop.Status{shop.Available, shop.Available, shop.Sold, shop.Available, shop.Available} {
			pets = append(pets, addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1, Status: status}))
		}
		write(t, store, func(tx shop.WriteTx) error {
			_, err := addPhoto(tx, pets[3].ID, "a", "")
			return err
		})
		changeProfile(t, store, pets[1].ID, func(p *shop.Profile) { p.Sex, p.UpdatedAt = shop.Male, noonOf2026 })
		for _, c := range []struct {
			examined, returned int
			want               []shop.Pet
		}{{10, 10, []shop.Pet{pets[4], pets[1], pets[0]}}, {10, 2, []shop.Pet{pets[4], pets[1]}}, {3, 10, []shop.Pet{pets[4], pets[1]}}, {2, 10, pets[4:]}} {
			got := get(t, store, func(tx shop.ReadTx) ([]shop.Pet, error) { return tx.PetsWithoutPhoto(c.examined, c.returned) })
			if !slices.Equal(got, c.want) {
				t.Errorf("of %d animals: got %v, want %v", c.examined, got, c.want)
			}
		}
	}},

	{name: "photos of a removed animal are hidden until it is restored", run: func(t *testing.T, store shop.Store) {
		pet := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		write(t, store, func(tx shop.WriteTx) error {
			_, err := addPhoto(tx, pet.ID, "a", "")
			return err
		})
		write(t, store, func(tx shop.WriteTx) error { return tx.DeletePet(pet) })
		wantPhotoFiles(t, store, "a", false)
		wantPhotoUsage(t, store, 1, 1)
		write(t, store, func(tx shop.WriteTx) error { return tx.RestorePet(pet) })
		wantPhotoFiles(t, store, "a", true)
	}},

	{name: "photos of removed animals are found and forgotten", clocked: func(t *testing.T, store shop.Store, clock *testClock) {
		clock.set(noonOf2026)
		var pets []shop.Pet
		for _, name := range []string{"a", "b", "c"} {
			pet := addPet(t, store, shop.NewPet{Name: name, CategoryID: 1})
			write(t, store, func(tx shop.WriteTx) error {
				_, err := addPhoto(tx, pet.ID, name, "")
				return err
			})
			pets = append(pets, pet)
		}
		removePet(t, store, pets[0])
		removePet(t, store, pets[1])
		publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1})
		clock.set(noonOf2026.Add(time.Hour))
		write(t, store, func(tx shop.WriteTx) error {
			if err := tx.RestorePet(pets[1]); err != nil {
				return err
			}
			return tx.InsertEvents(newEvent(shop.PetRestored, fmt.Sprint("pets/", pets[1].ID)))
		})
		publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1})
		wantRemoved := func(removedBy time.Time, want *shop.Profile, wantRestorable bool) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				got, restorable, found, err := tx.RemovedPhotos(removedBy)
				if found != (want != nil) || found && (got.Pet.ID != want.Pet.ID || got.Published != want.Published || len(got.Photos) != 1 || restorable != wantRestorable) {
					t.Errorf("found the removed animal %+v, restorable: %t; want %+v, %t", got, restorable, want, wantRestorable)
				}
				return err
			})
		}
		forget := func(pet shop.Pet, forget func(shop.WriteTx) error) {
			write(t, store, func(tx shop.WriteTx) error {
				return errors.Join(tx.DeletePhotoFiles(shop.Photo{Name: pet.Name}), forget(tx))
			})
		}
		wantRemoved(noonOf2026.Add(-time.Second), nil, false) // the events are still there
		wantRemoved(noonOf2026, &shop.Profile{Pet: pets[0]}, true)
		removeEventsBefore(t, store, noonOf2026.Add(time.Minute))
		wantPhotoUsage(t, store, 3, 3)
		wantRemoved(noonOf2026.Add(-time.Second), &shop.Profile{Pet: pets[0]}, false)
		forget(pets[0], func(tx shop.WriteTx) error { return tx.ForgetProfile(pets[0].ID) })
		wantRemoved(noonOf2026.Add(-time.Second), nil, false)
		wantPhotoFiles(t, store, "b", true)
		wantPhotoFiles(t, store, "c", true)

		// The photos of an animal that can still be restored are found when they are old enough.
		published := shop.Profile{Pet: pets[1], Published: true, UpdatedAt: noonOf2026}
		changeProfile(t, store, pets[1].ID, func(p *shop.Profile) { p.Published = true })
		removePet(t, store, pets[1])
		clock.set(noonOf2026.Add(2 * time.Hour))
		removePet(t, store, pets[2])
		wantRemoved(noonOf2026.Add(time.Hour-time.Second), nil, false)
		wantRemoved(noonOf2026.Add(2*time.Hour), &published, true)
		forget(pets[1], func(tx shop.WriteTx) error { return tx.ForgetPhotos(pets[1].ID) })
		wantRemoved(noonOf2026.Add(2*time.Hour), &shop.Profile{Pet: pets[2]}, true)
		forget(pets[2], func(tx shop.WriteTx) error { return tx.ForgetProfile(pets[2].ID) })
		wantRemoved(noonOf2026.Add(2*time.Hour), nil, false)
		for _, pet := range pets[1:] {
			write(t, store, func(tx shop.WriteTx) error { return tx.RestorePet(pet) })
		}
		wantProfile(t, store, published)
		wantProfile(t, store, shop.Profile{Pet: pets[2]})
		wantPhotoFiles(t, store, "b", false)
		wantRemoved(noonOf2026.Add(2*time.Hour), nil, false)
	}},

	{name: "concurrent uploads keep the quota and lose no photo", run: func(t *testing.T, store shop.Store) {
		const writers, quota = 12, 9
		errFull := errors.New("full")
		shared := addPet(t, store, shop.NewPet{Name: "Rex", CategoryID: 1})
		var wg sync.WaitGroup
		added := make([]*shop.Photo, writers)
		for i := range writers {
			pet := shared
			if i%2 == 0 { // half of them change the same profile
				pet = addPet(t, store, shop.NewPet{Name: "Mia", CategoryID: 1})
			}
			wg.Go(func() {
				err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
					usage, err := tx.PhotoUsage()
					if err != nil {
						return err
					}
					if usage.Bytes >= quota*photoFilesBytes {
						return errFull
					}
					photo, err := addPhoto(tx, pet.ID, string(rune('a'+i)), "")
					added[i] = &photo
					return err
				})
				if err != nil {
					added[i] = nil
				}
				if err != nil && !errors.Is(err, errFull) {
					t.Errorf("writer %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		wantPhotoUsage(t, store, quota, quota)
		ids, inShared := map[int64]bool{}, 0
		for i, photo := range added {
			wantPhotoFiles(t, store, string(rune('a'+i)), photo != nil)
			if photo != nil {
				if ids[photo.ID] = true; i%2 == 1 {
					inShared++
				}
			}
		}
		if len(ids) != quota {
			t.Errorf("%d photos have different ids, want %d", len(ids), quota)
		}
		profile, _, err := shop.Profile{}, false, error(nil)
		read(t, store, func(tx shop.ReadTx) error { profile, _, err = tx.Profile(shared.ID); return err })
		if len(profile.Photos) != inShared {
			t.Errorf("the animal that several writers changed has %d photos, want %d", len(profile.Photos), inShared)
		}
	}},
}
