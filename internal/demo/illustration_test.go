package demo

import (
	"bytes"
	"image/jpeg"
	"maps"
	"testing"

	"animalstore/internal/shop"
)

// Every breed has an illustration in each of its colours: two small JPEG files, which are always the same.
func TestEveryBreedHasIllustrations(t *testing.T) {
	t.Parallel()
	unused, seen := maps.Clone(coats), map[string]illustration{}
	for i, photo := range illustrations() {
		delete(unused, i.color)
		for size, width := range map[shop.PhotoSize]int{shop.SmallPhoto: smallWidth, shop.MediumPhoto: largeWidth, shop.LargePhoto: photo.Width} {
			file := photo.Files[size]
			config, err := jpeg.DecodeConfig(bytes.NewReader(file))
			if err != nil || config.Width != width || config.Height != width*3/4 || len(file) > 16<<10 {
				t.Errorf("%+v, %s: %v, %+v, %d bytes", i, size, err, config, len(file))
			}
		}
		small := string(photo.Files[shop.SmallPhoto])
		if other, found := seen[small]; found {
			t.Errorf("%+v and %+v look the same", i, other)
		}
		seen[small] = i
	}
	for _, category := range categories {
		for _, breed := range category.breeds {
			for _, color := range breed.colors {
				if i := (illustration{breed.drawing, color, category.portraits}); illustrations()[i].Files == nil {
					t.Errorf("there is no illustration %+v", i)
				}
			}
		}
	}
	if len(unused) > 0 {
		t.Errorf("no breed has these colours: %v", unused)
	}
	again := illustration{"dog", "golden", true}
	if !bytes.Equal(again.file(smallWidth), illustrations()[again].Files[shop.SmallPhoto]) {
		t.Error("an illustration that is drawn again is different")
	}
}
