package window

import (
	"fmt"
	"math"
	"strings"

	"animalstore/internal/shop"
)

// image is a photo as the pages show it.
type image struct {
	Src, Srcset, Large string
	Width, Height      int // of the medium file
	Alt                string
	URL                string // the absolute URL of the large file, or ""
}

// photoSides are the lengths of the longer side of the files of a photo, in pixels.
var photoSides = map[shop.PhotoSize]int{shop.SmallPhoto: 320, shop.MediumPhoto: 800, shop.LargePhoto: 1600}

// image returns how a photo of an animal is shown.
func (x *exchange) image(p shop.WindowPet, photo shop.Photo) image {
	i := image{Alt: photo.Alt}
	if i.Alt == "" {
		i.Alt = p.Pet.Name
		if len(p.Photos) > 1 {
			i.Alt = fmt.Sprintf("%s, photo %d of %d", p.Pet.Name, photo.Position, len(p.Photos))
		}
	}
	var set []string
	last := 0
	for _, size := range shop.PhotoSizes() {
		width, height := fit(photo.Width, photo.Height, photoSides[size])
		path := x.base + photo.URL(size)
		if size == shop.MediumPhoto {
			i.Src, i.Width, i.Height = path, width, height
		}
		if width > last { // a small photo has the same size in several files
			set = append(set, fmt.Sprintf("%s %dw", path, width))
			last = width
		}
		i.Large = path
	}
	i.Srcset = strings.Join(set, ", ")
	if x.site != "" {
		i.URL = x.site + i.Large
	}
	return i
}

// fit returns the size of a picture whose longer side is reduced to a length.
func fit(width, height, side int) (int, int) {
	longer := max(width, height)
	if longer <= side {
		return width, height
	}
	scale := float64(side) / float64(longer)
	return max(1, int(math.Round(float64(width)*scale))), max(1, int(math.Round(float64(height)*scale)))
}

// cover returns the first photo of an animal, or nil if it has none.
func (x *exchange) cover(p shop.WindowPet) *image {
	if len(p.Photos) == 0 {
		return nil
	}
	i := x.image(p, p.Photos[0])
	return &i
}
