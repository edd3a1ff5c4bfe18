package photo

import (
	"bytes"
	"encoding/binary"

	"animalstore/internal/admission"
)

// The markers of JPEG segments.
const (
	sof0, sof1, sof2 = 0xc0, 0xc1, 0xc2 // the header of a sequential or, if sof2, a progressive image
	dht              = 0xc4
	rst0, rst7       = 0xd0, 0xd7
	eoi              = 0xd9
	sos              = 0xda
	dqt              = 0xdb
	dri              = 0xdd
	app0             = 0xe0
	app1             = 0xe1
	app2             = 0xe2
	app14            = 0xee
	app15            = 0xef
	com              = 0xfe
)

// progressiveFactor is how much more memory a progressive image needs, because the decoder keeps the coefficients of all
// blocks, with 4 bytes each.
const progressiveFactor = 5

var errUnusualJPEG = &Error{Reason: "The JPEG file is of a rare kind that cannot be read. Save the image as an ordinary JPEG file."}

// jpegWalk collects what the segments of a JPEG file say.
type jpegWalk struct {
	*Original
	frame      []byte // the content of the segment that describes the image
	marker     byte   // its marker
	adobe      bool   // whether there is a segment of Adobe, which says what the components are
	transform  byte   // what this segment says: 0 means that the components are RGB or CMYK
	jfif       bool
	components int
	scans      int
	exif       []byte
	chunks     [][]byte // the parts of the colour profile, by their number
}

// inspectJPEG walks through all segments, up to the end of the image. The decoder gets only the segments that it needs,
// so no scan can hide in a comment.
func inspectJPEG(o *Original) error {
	w := jpegWalk{Original: o}
	run, end := 0, 2 // where the current run begins, and where the last segment ends
	for {
		begin, next := nextMarker(o.data, end)
		if next < 0 {
			return errCutShort
		}
		marker := o.data[next-1]
		if run < 0 {
			run = begin
		}
		switch {
		case marker == eoi:
			o.runs = append(o.runs, o.data[run:next])
			return w.finish()
		case marker >= rst0 && marker <= rst7:
			end = next
			continue
		case len(o.data) < next+2:
			return errCutShort
		}
		end = next + int(binary.BigEndian.Uint16(o.data[next:]))
		if end < next+2 {
			return errDamaged
		}
		if len(o.data) < end {
			return errCutShort
		}
		needed, err := w.segment(marker, o.data[next+2:end])
		if err != nil {
			return err
		}
		if !needed {
			o.runs = append(o.runs, o.data[run:begin])
			run = -1
		}
	}
}

// nextMarker returns where the next marker after the compressed data at i begins and ends. The end is negative if there is
// no other marker.
func nextMarker(data []byte, i int) (begin, end int) {
	for {
		offset := bytes.IndexByte(data[i:], 0xff)
		if offset < 0 {
			return 0, -1
		}
		begin = i + offset
		for i = begin; i < len(data) && data[i] == 0xff; i++ { // any number of these bytes may precede a marker
		}
		if i == len(data) {
			return 0, -1
		}
		i++
		if data[i-1] != 0 { // otherwise, it is a byte of compressed data
			return begin, i
		}
	}
}

// segment reads a segment. It reports whether the decoder needs it.
func (w *jpegWalk) segment(marker byte, content []byte) (needed bool, err error) {
	is := func(name string) bool { return bytes.HasPrefix(content, []byte(name)) }
	switch {
	case marker >= sof0 && marker <= sof2:
		if w.frame != nil {
			return false, errDamaged
		}
		w.frame, w.marker = content, marker
		return true, w.checkFrame()
	case marker == sos:
		w.scans++
		return true, nil
	case marker == dht, marker == dqt, marker == dri:
		return true, nil
	case marker == app0:
		w.jfif = is("JFIF\x00")
		return true, nil
	case marker == app14 && is("Adobe") && len(content) >= 12:
		w.adobe, w.transform = true, content[11]
		return true, nil
	case marker == app1 && is(exifName) && w.exif == nil:
		w.exif = content
	case marker == app2 && is(iccName):
		w.chunks = append(w.chunks, content[len(iccName):])
	case marker > app0 && marker <= app15, marker == com:
	default:
		return false, errUnusualJPEG
	}
	return false, nil
}

// checkFrame refuses images that the decoder cannot read.
func (w *jpegWalk) checkFrame() error {
	frame := w.frame
	if len(frame) < 6 || len(frame) != 6+3*int(frame[5]) {
		return errDamaged
	}
	w.components = int(frame[5])
	if frame[0] != 8 || w.components != 1 && w.components != 3 && w.components != 4 {
		return errUnusualJPEG
	}
	return nil
}

// finish checks the image after all its segments have been read.
func (w *jpegWalk) finish() error {
	if w.frame == nil || w.scans == 0 {
		return errDamaged
	}
	if err := w.checkScans(); err != nil {
		return err
	}
	o := w.Original
	o.grey = w.components == 1
	o.orientation = readOrientation(w.exif)
	o.profile = joinProfile(w.chunks)
	perPixel := w.components
	if w.marker == sof2 {
		perPixel *= progressiveFactor
	}
	switch {
	case w.components == 4 && !w.adobe:
		return errUnusualJPEG
	case w.components == 4:
		perPixel += 4 // the decoder copies the planes into one
		o.profile = nil
	case w.components == 3 && w.isRGB():
		perPixel += 4
	}
	return o.setSize(int(binary.BigEndian.Uint16(w.frame[3:])), int(binary.BigEndian.Uint16(w.frame[1:])), float64(perPixel), 0)
}

// isRGB reports whether the components are red, green and blue. The decoder uses the same rules.
func (w *jpegWalk) isRGB() bool {
	if w.jfif {
		return false
	}
	return w.adobe && w.transform == 0 || w.frame[6] == 'R' && w.frame[9] == 'G' && w.frame[12] == 'B'
}

// checkScans refuses images with too many scans: each costs as much as decoding the whole image, however short it is.
// Where a decoder continues after an error is not certain, so everything counts that could be taken for the beginning of a
// scan.
func (w *jpegWalk) checkScans() error {
	possible := 0
	for _, run := range w.runs {
		possible += bytes.Count(run, []byte{0xff, sos})
	}
	if possible > admission.MaxPhotoScans {
		return refuse("The JPEG file has %d scans. It may have at most %d. Save the image as a JPEG file that is not progressive.", possible, admission.MaxPhotoScans)
	}
	// In a sequential image, each component is in one scan. By chance, a table may contain the bytes of a marker.
	if w.marker != sof2 && (w.scans > w.components || possible > w.scans+4) {
		return errDamaged
	}
	return nil
}
