package photo

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"slices"

	"golang.org/x/image/webp"
)

// The longer sides of the files of a photo, in pixels.
const (
	SmallSide  = 320
	MediumSide = 800
	LargeSide  = 1600
)

// quality is the quality of the JPEG files, from 1 to 100.
const quality = 85

// Files are the JPEG files of a photo. None is larger than the original, so two of them may be the same.
type Files struct {
	Small, Medium, Large []byte
	Width, Height        int // of the large file
}

// Convert makes a photo from the image. It fails with an Error if the image is damaged.
func (o *Original) Convert() (Files, error) {
	large, err := o.decode()
	if err != nil {
		return Files{}, err
	}
	large = large.turned(o.orientation)
	e := encoder{profile: profileSegments(o.keptProfile())}
	medium := large.scaled(fit(large.width, large.height, MediumSide))
	small := medium.scaled(fit(large.width, large.height, SmallSide))
	files := Files{Width: large.width, Height: large.height}
	files.Large = e.encode(large)
	if files.Medium = files.Large; medium != large {
		files.Medium = e.encode(medium)
	}
	if files.Small = files.Medium; small != medium {
		files.Small = e.encode(small)
	}
	return files, e.err
}

// decode decodes the image and scales it to the size of the large file. The decoded image, which is much larger than
// everything else, is garbage when it returns.
func (o *Original) decode() (*picture, error) {
	var img image.Image
	var err error
	switch o.kind.contentType {
	case jpegFile.contentType:
		readers := make([]io.Reader, len(o.runs))
		for i, run := range o.runs {
			readers[i] = bytes.NewReader(run)
		}
		img, err = jpeg.Decode(io.MultiReader(readers...))
	case pngFile.contentType:
		img, err = png.Decode(bytes.NewReader(o.data))
	case webpFile.contentType:
		img, err = webp.Decode(bytes.NewReader(o.data))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errCutShort
	}
	if err != nil || img.Bounds() != image.Rect(0, 0, o.Width, o.Height) {
		return nil, errDamaged
	}
	width, height := fit(o.Width, o.Height, LargeSide)
	return reduced(img, o.grey, o.kind.contentType == webpFile.contentType, width, height), nil
}

// keptProfile returns the colour profile for the files of the photo, or nil if they have none.
func (o *Original) keptProfile() []byte {
	profile := o.profile
	if o.kind.contentType == pngFile.contentType {
		profile = inflateProfile(profile)
	}
	return keptProfile(profile, o.grey)
}

// fit returns the size of an image whose longer side has at most this many pixels. It is never enlarged.
func fit(width, height, side int) (int, int) {
	longer := max(width, height)
	if longer <= side {
		return width, height
	}
	scale := func(n int) int { return max(1, (2*n*side+longer)/(2*longer)) }
	return scale(width), scale(height)
}

// encoder encodes pictures with a colour profile.
type encoder struct {
	profile []byte // its segments
	buffer  bytes.Buffer
	err     error // the first error
}

// encode returns a picture as a JPEG file.
func (e *encoder) encode(p *picture) []byte {
	e.buffer.Reset()
	if err := jpeg.Encode(&e.buffer, p.image(), &jpeg.Options{Quality: quality}); err != nil && e.err == nil {
		e.err = err
		return nil
	}
	encoded := e.buffer.Bytes()
	const start = 2 // the length of the first marker, which the profile follows
	return slices.Concat(encoded[:start], e.profile, encoded[start:])
}
