package staff

import (
	"fmt"
	"html/template"

	"animalstore/internal/shop"
)

// photoSides are the maximum lengths of the longer side of a photo's files.
var photoSides = map[shop.PhotoSize]int{shop.SmallPhoto: 320, shop.MediumPhoto: 800, shop.LargePhoto: 1600}

// photoSource returns the attributes of an image that shows a photo. With its width and height, nothing on the page moves
// when the image arrives.
func (p *Pages) photoSource(photo shop.Photo, size string) template.HTMLAttr {
	width, height := photo.Width, photo.Height
	if side, longer := photoSides[shop.PhotoSize(size)], max(width, height); longer > side {
		width, height = max(1, width*side/longer), max(1, height*side/longer)
	}
	return template.HTMLAttr(fmt.Sprintf(`src="%s" width="%d" height="%d"`, template.HTMLEscapeString(p.At(photo.URL(shop.PhotoSize(size)))), width, height))
}
