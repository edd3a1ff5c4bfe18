package sqlstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

// The settings that contain the usage of photos. Every upload changes both, and no other write does. So concurrent uploads
// wait for each other or run again, and nothing else does.
const (
	photoBytesSetting  = "photo_bytes"
	lastPhotoIDSetting = "last_photo_id"
)

func (t *tx) PhotoUsage() (usage shop.PhotoUsage, err error) {
	_, err = all(t, func(scan Scanner) (struct{}, error) {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return struct{}{}, err
		}
		n, err := strconv.ParseInt(value, 10, 64)
		switch name {
		case photoBytesSetting:
			usage.Bytes = n
		case lastPhotoIDSetting:
			usage.LastID = n
		}
		return struct{}{}, err
	}, "SELECT name, value FROM settings WHERE name IN ('"+photoBytesSetting+"', '"+lastPhotoIDSetting+"')")
	return usage, err
}

func (t *tx) SetPhotoUsage(usage shop.PhotoUsage) error {
	if err := t.set(photoBytesSetting, strconv.FormatInt(usage.Bytes, 10)); err != nil {
		return err
	}
	return t.set(lastPhotoIDSetting, strconv.FormatInt(usage.LastID, 10))
}

var photoFileInsertion = &engine.Insertion{Table: "photo_files", Columns: "name, size, pet_id, content", Types: []string{"TEXT", "TEXT", "BIGINT", "BYTEA"}}

func (t *tx) InsertPhotoFiles(petID int64, name string, files shop.PhotoFiles) error {
	sizes := shop.PhotoSizes()
	return t.Insert(photoFileInsertion, len(sizes), func(args []any, row int) []any {
		return append(args, name, string(sizes[row]), petID, files[sizes[row]])
	})
}

func (t *tx) DeletePhotoFiles(photos ...shop.Photo) error {
	for _, photo := range photos {
		if err := t.Exec("DELETE FROM photo_files WHERE name = $1", photo.Name); err != nil {
			return err
		}
	}
	return nil
}

// The photos of removed pets have files, but are not found.
const photoFile = " FROM photo_files JOIN pets ON pets.id = photo_files.pet_id WHERE photo_files.name = $1 AND size = $2"

func (t *tx) PhotoFile(name string, size shop.PhotoSize) ([]byte, bool, error) {
	return one(t, scanValue[[]byte], "SELECT content"+photoFile, name, string(size))
}

func (t *tx) HasPhotoFile(name string, size shop.PhotoSize) (bool, error) {
	_, found, err := one(t, scanValue[int64], "SELECT pet_id"+photoFile, name, string(size))
	return found, err
}

func (t *tx) PetsWithoutPhoto(examined, returned int) ([]shop.Pet, error) {
	newest, args := petsQuery(t.dialect, "id, name, category_id, status", shop.PetList{
		PetFilter: shop.PetFilter{Status: shop.Available}, PageRequest: shop.PageRequest{Limit: examined},
	})
	return all(t, scanPet, fmt.Sprintf("SELECT pet.id, pet.name, pet.category_id, coalesce(pet.status, '') FROM (%s) AS pet LEFT JOIN profiles AS profile"+
		" ON profile.id = pet.id WHERE coalesce(profile.photos, '') = '' ORDER BY pet.id DESC LIMIT %d", newest, returned), args...)
}

func (t *tx) RemovedPhotos(removedBy time.Time) (profile shop.Profile, restorable, found bool, err error) {
	var removed int64
	profile, found, err = one(t, func(scan Scanner) (shop.Profile, error) {
		return ScanProfile(func(columns ...any) error { return scan(append(columns, &removed)...) })
	}, "SELECT "+ProfileColumns+", profile.removed FROM profiles AS profile WHERE photos_removed_at <= $1 ORDER BY photos_removed_at LIMIT 1", micros(removedBy))
	return profile, removed == profileRestorable, found, err
}

func (t *tx) ForgetPhotos(petID int64) error {
	return t.Exec("UPDATE profiles SET photos = '', photos_removed_at = NULL WHERE id = $1", petID)
}

func (t *tx) ForgetProfile(petID int64) error {
	return t.Exec("DELETE FROM profiles WHERE id = $1", petID)
}

// photosText returns the text for the column profiles.photos: a line for each photo, in their order. The alternative text
// comes last, because it may contain spaces. It cannot contain the end of a line.
func photosText(photos []shop.Photo) string {
	var text []byte
	for i, p := range photos {
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(append(strconv.AppendInt(text, p.ID, 10), ' '), p.Name...)
		for _, n := range []int64{int64(p.Width), int64(p.Height), p.Bytes, p.CreatedAt.UnixMicro()} {
			text = strconv.AppendInt(append(text, ' '), n, 10)
		}
		text = append(append(text, ' '), p.Alt...)
	}
	return string(text)
}

// photosIn returns the photos that a text in the column profiles.photos lists.
func photosIn(text string) (photos []shop.Photo) {
	if text == "" {
		return nil
	}
	photos = make([]shop.Photo, 0, 1+strings.Count(text, "\n"))
	for line := range strings.SplitSeq(text, "\n") {
		var words [6]string
		for i := range words {
			words[i], line, _ = strings.Cut(line, " ")
		}
		number := func(word int) int64 {
			n, _ := strconv.ParseInt(words[word], 10, 64) // a check of the store finds lines that are damaged
			return n
		}
		photos = append(photos, shop.Photo{
			ID: number(0), Position: len(photos) + 1, Name: words[1], Width: int(number(2)), Height: int(number(3)), Bytes: number(4),
			CreatedAt: fromMicros(number(5)), Alt: line,
		})
	}
	return photos
}
