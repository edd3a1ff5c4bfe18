package shop_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// newPhoto returns a photo whose files have 60 bytes together.
func newPhoto() shop.NewPhoto {
	files := shop.PhotoFiles{}
	for i, size := range shop.PhotoSizes() {
		files[size] = make([]byte, 10*(i+1))
	}
	return shop.NewPhoto{Files: files, Width: 1600, Height: 1200}
}

// A photo is part of its animal's profile: it sets the time, is reported by events, and goes and comes with the animal.
func TestPhotosBelongToTheProfile(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	pet := s.AddPet(t, "Rex", 1, "")
	first := must(s.AddPhoto(t.Context(), shop.Caller{}, pet.ID, newPhoto()))(t)
	second := must(s.AddPhoto(t.Context(), shop.Caller{}, pet.ID, newPhoto()))(t)
	equal(t, "the ids", [2]int64{first.ID, second.ID}, [2]int64{1, 2})
	equal(t, "the same name", first.Name == second.Name || len(first.Name) != 32, false)
	profile := must(s.Profile(t.Context(), pet.ID))(t)
	equal(t, "the photos", slices.Equal(profile.Photos, []shop.Photo{first, second}), true)
	equal(t, "the time", profile.UpdatedAt, second.CreatedAt)

	moved := must(s.UpdatePhoto(t.Context(), shop.Caller{}, pet.ID, second.ID, shop.PhotoChange{Position: new(int64(1)), Alt: new("Rex sleeps")}, nil))(t)
	equal(t, "the position", moved.Position, 1)
	unchanged := must(s.UpdatePhoto(t.Context(), shop.Caller{}, pet.ID, second.ID, shop.PhotoChange{Position: new(int64(1))}, nil))(t)
	equal(t, "the same photo", unchanged, moved)
	_, err := s.UpdatePhoto(t.Context(), shop.Caller{}, pet.ID, second.ID, shop.PhotoChange{Position: new(int64(0)), Alt: new("\n")}, nil)
	wantCode(t, err, shop.ValidationFailed)

	// A change of the profile keeps the photos, and one of the photos keeps the rest.
	must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Color: new("red"), Notes: new("secret")}, nil))(t)
	check(t, s.DeletePhoto(t.Context(), shop.Caller{}, pet.ID, first.ID, nil))
	wantCode(t, s.DeletePhoto(t.Context(), shop.Caller{}, pet.ID, first.ID, nil), shop.NotFound)
	profile = must(s.Profile(t.Context(), pet.ID))(t)
	equal(t, "the rest", profile.Color+" "+profile.Notes, "red secret")
	equal(t, "the photos", slices.Equal(profile.Photos, []shop.Photo{moved}), true)
	must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Color: new(""), Notes: new("")}, nil))(t)
	equal(t, "the time of a profile with photos only", must(s.Profile(t.Context(), pet.ID))(t).UpdatedAt.IsZero(), false)

	check(t, s.DeletePet(t.Context(), shop.Caller{}, pet.ID, nil))
	_, err = s.PhotoFile(t.Context(), moved.Name, shop.SmallPhoto)
	wantCode(t, err, shop.NotFound)
	_, err = s.AddPhoto(t.Context(), shop.Caller{}, pet.ID, newPhoto())
	wantCode(t, err, shop.NotFound)
	must(s.RestorePet(t.Context(), shop.Caller{}, pet.ID))(t)
	equal(t, "the file", len(must(s.PhotoFile(t.Context(), moved.Name, shop.SmallPhoto))(t)), 10)
	check(t, s.DeletePhoto(t.Context(), shop.Caller{}, pet.ID, second.ID, nil))
	equal(t, "the time of an empty profile", must(s.Profile(t.Context(), pet.ID))(t).UpdatedAt.IsZero(), true)

	filter := shop.EventFilter{Types: []shop.EventType{shop.ProfileUpdated}}
	var counts []string
	for _, event := range must(s.ListEvents(t.Context(), shop.Caller{}, filter, shop.PageRequest{Limit: 20}))(t).Items {
		var data struct {
			Current, Previous struct {
				Photos []struct{ Urls map[string]string }
			}
		}
		check(t, json.Unmarshal(event.Data, &data))
		counts = append(counts, strings.Repeat("x", len(data.Previous.Photos))+"→"+strings.Repeat("x", len(data.Current.Photos)))
	}
	equal(t, "the events", strings.Join(counts, " "), "→x x→xx xx→xx xx→xx xx→x x→x x→")
}

// The photos of a removed animal count against the quota until they are deleted, which is after 30 days.
func TestRemovedPhotosCountForThirtyDays(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{Options: shop.Options{PhotoQuota: 119}})
	rex, mia := s.AddPet(t, "Rex", 1, ""), s.AddPet(t, "Mia", 1, "")
	photo := must(s.AddPhoto(t.Context(), shop.Caller{}, rex.ID, newPhoto()))(t)
	check(t, s.CheckPhotoRoom(t.Context(), mia.ID))
	_, err := s.AddPhoto(t.Context(), shop.Caller{}, mia.ID, newPhoto())
	wantCode(t, err, shop.PhotoQuotaReached)
	check(t, s.DeletePet(t.Context(), shop.Caller{}, rex.ID, nil))
	s.Clock.Forward(29 * 24 * time.Hour)
	check(t, s.PurgePhotos(t.Context()))
	_, err = s.AddPhoto(t.Context(), shop.Caller{}, mia.ID, newPhoto())
	wantCode(t, err, shop.PhotoQuotaReached)
	s.Clock.Forward(24 * time.Hour)
	check(t, s.PurgePhotos(t.Context()))
	must(s.AddPhoto(t.Context(), shop.Caller{}, mia.ID, newPhoto()))(t)
	must(s.RestorePet(t.Context(), shop.Caller{}, rex.ID))(t)
	_, err = s.PhotoFile(t.Context(), photo.Name, shop.LargePhoto)
	wantCode(t, err, shop.NotFound)
	equal(t, "the photos", len(must(s.Photos(t.Context(), rex.ID))(t)), 0)
}

// The photos of an animal that cannot be restored any more are deleted with the rest of its profile.
func TestPhotosGoWithTheLastEvent(t *testing.T) {
	inVirtualTime(t, shop.Options{EventRetention: 24 * time.Hour}, func(t *testing.T, s *shoptest.Shop) {
		rex, mia := s.AddPet(t, "Rex", 1, ""), s.AddPet(t, "Mia", 1, "")
		for _, pet := range []shop.Pet{rex, mia} {
			must(s.AddPhoto(t.Context(), shop.Caller{}, pet.ID, newPhoto()))(t)
			must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Published: new(true)}, nil))(t)
		}
		check(t, s.DeletePet(t.Context(), shop.Caller{}, rex.ID, nil))
		time.Sleep(25 * time.Hour)
		check(t, s.DeletePet(t.Context(), shop.Caller{}, mia.ID, nil))
		check(t, s.RemoveEvents(t.Context()))
		check(t, s.PurgePhotos(t.Context()))
		check(t, s.Store.Read(t.Context(), shop.Reading{}, func(tx shop.ReadTx) error {
			equal(t, "the bytes", must(tx.PhotoUsage())(t).Bytes, 60)
			return nil
		}))
		must(s.RestorePet(t.Context(), shop.Caller{}, mia.ID))(t)
		profile := must(s.Profile(t.Context(), mia.ID))(t)
		equal(t, "the photos and whether the animal is published", [2]any{len(profile.Photos), profile.Published}, [2]any{1, true})
		check(t, s.DeletePet(t.Context(), shop.Caller{}, mia.ID, nil))
		time.Sleep(25 * time.Hour)
		check(t, s.RemoveEvents(t.Context()))
		check(t, s.PurgePhotos(t.Context()))
		check(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			equal(t, "the bytes", must(tx.PhotoUsage())(t).Bytes, 0)
			check(t, tx.RestorePet(rex)) // nobody can do this any more
			profile, _, err := tx.Profile(rex.ID)
			equal(t, "the profile is published", profile.Published, false)
			return err
		}))
	})
}

func TestPhotosOfAnAnimalAreLimited(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	pet := s.AddPet(t, "Rex", 1, "")
	for range shop.MaxPhotos {
		check(t, s.CheckPhotoRoom(t.Context(), pet.ID))
		must(s.AddPhoto(t.Context(), shop.Caller{}, pet.ID, newPhoto()))(t)
	}
	wantCode(t, s.CheckPhotoRoom(t.Context(), pet.ID), shop.PhotoLimitReached)
	_, err := s.AddPhoto(t.Context(), shop.Caller{}, pet.ID, newPhoto())
	wantCode(t, err, shop.PhotoLimitReached)
	wantCode(t, s.CheckPhotoRoom(t.Context(), pet.ID+1), shop.NotFound)
}
