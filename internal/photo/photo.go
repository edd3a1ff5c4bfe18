// Package photo turns the images that people send into photos: three upright JPEG files of fixed sizes, without the
// metadata of the original. It takes bytes and returns bytes.
//
// A decoder cannot be stopped, and its memory follows from the header of the file. So Inspect reads the header first,
// which costs next to nothing, and refuses what would cost too much. The caller then reserves the memory that Cost
// returns, and calls Convert.
package photo

import (
	"fmt"
	"strings"

	"animalstore/internal/admission"
)

// Error says why an image is refused. Its message is meant for the people who have sent the image.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

func refuse(format string, arguments ...any) error {
	return &Error{Reason: fmt.Sprintf(format, arguments...)}
}

// The reasons that several formats share.
var (
	errCutShort = &Error{Reason: "The file is cut short. Send the whole file."}
	errDamaged  = &Error{Reason: "The file is damaged and cannot be read. Save the image again, and send the new file."}
)

// Original is an image as it was sent. Inspect has read its header and found nothing to refuse.
type Original struct {
	Width, Height int // as they are stored, before the image is turned upright

	data        []byte
	kind        kind
	grey        bool
	orientation int      // as in Exif: 1 if the image is upright
	runs        [][]byte // the parts of a JPEG file that the decoder needs
	profile     []byte   // the colour profile, as the file contains it; compressed in a PNG file
	cost        int64
}

// Cost returns how many bytes of memory Convert needs to decode the image.
func (o *Original) Cost() int64 { return o.cost }

// Inspect reads the header of an image. It fails with an Error if the image is not of the type named, or if it is larger
// or more complicated than we accept. If contentType is empty, the image may be of any type that we accept. The result
// refers to data, which must not change.
func Inspect(data []byte, contentType string) (*Original, error) {
	found := sniff(data)
	if err := found.check(contentType); err != nil {
		return nil, err
	}
	o := &Original{data: data, kind: found, orientation: 1}
	if err := found.inspect(o); err != nil {
		return nil, err
	}
	return o, nil
}

// check returns an error if we do not accept files of this kind, or if the type that was named with the file is another one.
func (k kind) check(contentType string) error {
	contentType, _, _ = strings.Cut(contentType, ";")
	contentType = strings.ToLower(strings.TrimSpace(contentType))
	switch {
	case k.advice != "":
		return refuse("The file is %s. %s", k.name, k.advice)
	case contentType != "" && contentType != k.contentType:
		return refuse("The file is %s, but it was sent as %q. Send it as %q.", k.name, contentType, k.contentType)
	}
	return nil
}

// setSize sets the size of the image, and how many bytes the decoder needs for each pixel and in addition to the pixels.
// It fails if the image is too large.
func (o *Original) setSize(width, height int, perPixel float64, more int64) error {
	pixels := int64(width) * int64(height)
	o.Width, o.Height = width, height
	o.cost = int64(float64(pixels)*perPixel) + more
	switch {
	case width <= 0 || height <= 0:
		return errDamaged
	case width > admission.MaxPhotoSide || height > admission.MaxPhotoSide:
		return refuse("The image has %d × %d pixels. Each side may have at most %d.", width, height, admission.MaxPhotoSide)
	case pixels > admission.MaxPhotoPixels:
		return refuse("The image has %.1f megapixels. It may have at most %d.", float64(pixels)/1e6, admission.MaxPhotoPixels/1_000_000)
	case o.cost > admission.MaxPhotoMemory:
		return refuse("The image needs %d MiB of memory to be read. It may need at most %d. Send a smaller image, or a JPEG file that is not progressive.",
			o.cost>>20, admission.MaxPhotoMemory>>20)
	}
	return nil
}
