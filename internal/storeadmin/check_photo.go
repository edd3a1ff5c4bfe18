package storeadmin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// checkPhotos compares the photos that profiles list with their files and with the usage that the settings contain. It reads
// the lengths of the files, but not their contents. It needs little memory, unless there is something to find.
func (c *checker) checkPhotos(ctx context.Context) error {
	few := limitedFindings{checker: c}
	var listed, stored rowSum
	var used, lastID int64
	err := c.eachPhoto(ctx, func(petID int64, photo shop.Photo) {
		if reason := photoProblem(photo); reason != "" {
			few.finding("profiles %d: its photo %d %s", petID, photo.ID, reason)
		}
		listed.add(photo.Name, petID, len(shop.PhotoSizes()), photo.Bytes)
		used, lastID = used+photo.Bytes, max(lastID, photo.ID)
	})
	if err != nil {
		return err
	}
	query := "SELECT name, pet_id, count(*), sum(length(content)) FROM photo_files GROUP BY name, pet_id"
	err = c.Each(ctx, query, func(scan sqlstore.Scanner) error {
		var name string
		var petID, files, bytes int64
		err := scan(&name, &petID, &files, &bytes)
		stored.add(name, petID, int(files), bytes)
		return err
	})
	if err != nil {
		return err
	}
	if listed != stored {
		if err := c.findPhotoFiles(ctx); err != nil {
			return err
		}
	}
	return c.checkPhotoUsage(ctx, used, lastID)
}

// eachPhoto calls fn for every photo that a profile lists.
func (c *checker) eachPhoto(ctx context.Context, fn func(petID int64, photo shop.Photo)) error {
	query := "SELECT " + sqlstore.ProfileColumns + " FROM profiles AS profile WHERE photos IS NOT NULL ORDER BY profile.id"
	return c.Each(ctx, query, func(scan sqlstore.Scanner) error {
		profile, err := sqlstore.ScanProfile(scan)
		for _, photo := range profile.Photos {
			fn(profile.Pet.ID, photo)
		}
		return err
	})
}

// storedPhoto is a photo that a profile lists, with what is known of its files.
type storedPhoto struct {
	shop.Photo
	petID int64
	sizes map[string]bool
	bytes int64
}

// photoProblem returns what is wrong with a photo that a profile lists, or "".
func photoProblem(p shop.Photo) string {
	_, _, isName := shop.ParsePhotoFile(p.Name + "-" + string(shop.SmallPhoto) + ".jpg")
	switch {
	case p.ID < 1 || p.Width < 1 || p.Height < 1 || p.Bytes < 1 || p.CreatedAt.IsZero() || !isName:
		return "cannot be read"
	case p.Alt != "" && shop.AltProblem(p.Alt) != "":
		return "has a text that " + shop.AltProblem(p.Alt)
	}
	return ""
}

// findPhotoFiles reports files without a photo, photos without files, and files whose lengths are not those of the photo.
func (c *checker) findPhotoFiles(ctx context.Context) error {
	few := limitedFindings{checker: c}
	photos := map[string]*storedPhoto{}
	err := c.eachPhoto(ctx, func(petID int64, photo shop.Photo) {
		if photos[photo.Name] != nil {
			few.finding("profiles %d: its photo %d is also in another place", petID, photo.ID)
		}
		photos[photo.Name] = &storedPhoto{Photo: photo, petID: petID, sizes: map[string]bool{}}
	})
	if err != nil {
		return err
	}
	err = c.Each(ctx, "SELECT name, size, pet_id, length(content) FROM photo_files ORDER BY name, size", func(scan sqlstore.Scanner) error {
		var name, size string
		var petID, length int64
		if err := scan(&name, &size, &petID, &length); err != nil {
			return err
		}
		switch photo := photos[name]; {
		case photo == nil:
			few.finding("photo_files %s-%s: no profile has this photo", name, size)
		case photo.petID != petID:
			few.finding("photo_files %s-%s: it belongs to pet %d, but the photo to pet %d", name, size, petID, photo.petID)
		default:
			photo.sizes[size] = true
			photo.bytes += length
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(photos)) {
		photo := photos[name]
		if reason := photo.filesProblem(); reason != "" {
			few.finding("profiles %d: its photo %d %s", photo.petID, photo.ID, reason)
		}
	}
	return nil
}

// filesProblem returns what is wrong with the files of a photo, or "".
func (p *storedPhoto) filesProblem() string {
	for _, size := range shop.PhotoSizes() {
		if !p.sizes[string(size)] {
			return "has no " + string(size) + " file"
		}
	}
	switch {
	case len(p.sizes) > len(shop.PhotoSizes()):
		return "has a file of an unknown size"
	case p.bytes != p.Bytes:
		return fmt.Sprintf("has files of %d bytes instead of %d", p.bytes, p.Bytes)
	}
	return ""
}

// checkPhotoUsage compares the usage in the settings with that of the photos.
func (c *checker) checkPhotoUsage(ctx context.Context, used, lastID int64) error {
	settings := map[string]int64{}
	err := c.Each(ctx, "SELECT name, value FROM settings WHERE name IN ('photo_bytes', 'last_photo_id')", func(scan sqlstore.Scanner) error {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return err
		}
		settings[name], _ = strconv.ParseInt(value, 10, 64) // checkSettings reports a value that is no number
		return nil
	})
	if err == nil && settings["photo_bytes"] != used {
		c.finding("settings photo_bytes: counted %d, found %d", settings["photo_bytes"], used)
	}
	if err == nil && settings["last_photo_id"] < lastID {
		c.finding("settings last_photo_id: the id %d would be assigned again", lastID)
	}
	return err
}
