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
	drawn, unused := map[illustration]string{}, maps.Clone(coats)
	for _, category := range categories {
		for _, breed := range category.breeds {
			for _, color := range breed.colors {
				delete(unused, color)
				i := illustration{drawing: breed.drawing, color: color}
				if drawn[i] != "" {
					continue
				}
				photo := i.photo()
				for size, width := range map[shop.PhotoSize]int{shop.SmallPhoto: smallWidth, shop.MediumPhoto: largeWidth, shop.LargePhoto: photo.Width} {
					file := photo.Files[size]
					config, err := jpeg.DecodeConfig(bytes.NewReader(file))
					if err != nil || config.Width != width || config.Height != width*3/4 || len(file) > 16<<10 {
						t.Errorf("%+v, %s: %v, %+v, %d bytes", i, size, err, config, len(file))
					}
				}
				drawn[i] = string(photo.Files[shop.SmallPhoto])
			}
		}
	}
	seen := map[string]illustration{}
	for i, file := range drawn {
		if other, found := seen[file]; found {
			t.Errorf("%+v and %+v look the same", i, other)
		}
		seen[file] = i
	}
	if len(unused) > 0 {
		t.Errorf("no breed has these colours: %v", unused)
	}
	near := illustration{"dog", "golden", true}
	if file := near.file(smallWidth); !bytes.Equal(file, near.file(smallWidth)) || seen[string(file)] != (illustration{}) {
		t.Error("an illustration from near differs from itself, or does not differ from one that shows the whole animal")
	}
}
