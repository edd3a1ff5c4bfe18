package attack

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"animalstore/internal/admission"
	"animalstore/internal/photo"
)

// maxPhotoMemory is how much more memory than before the service may use while it converts photos, in bytes.
const maxPhotoMemory = 400_000_000

// uploads adds twelve photos at the same time, again and again. The images cost as much memory or time as the service accepts.
func uploads(a *attacker) {
	images := images()
	var n atomic.Int64
	a.repeat(12, 0, func() {
		i := n.Add(1)
		image := images[i%int64(len(images))]
		path := fmt.Sprintf("/v1/pets/%d/photos", 1+i%int64(a.Animals))
		if a.request("POST", path, image.content, a.authorization(), "Content-Type: "+image.contentType) != http.StatusCreated {
			a.sleep(busyPause)
		}
	})
}

type upload struct{ contentType, content string }

// images returns images at the limits of what the service accepts.
func images() []upload {
	return []upload{
		{"image/png", noisyPNG(6000, 4000, 16, 2, 6)}, // 24 megapixels of 16 bits
		{"image/png", noisyPNG(8000, 6250, 8, 6, 4)},  // with transparency
		{"image/jpeg", plainJPEG(6000, 5500, 4, 1)},   // CMYK
		{"image/jpeg", plainJPEG(5000, 3500, 3, admission.MaxPhotoScans)},
		{"image/jpeg", plainJPEG(8000, 6250, 3, 1)},
	}
}

// exceedsPhotoLimits checks that photos were added, and nothing was refused except for want of room.
func exceedsPhotoLimits(r row) string {
	added, busy := r.result.Statuses[http.StatusCreated], r.result.Statuses[http.StatusServiceUnavailable]
	answered := 0
	for _, n := range r.result.Statuses {
		answered += n
	}
	if added == 0 || added+busy < answered {
		return fmt.Sprintf("%d photos were added", added)
	}
	return ""
}

// noisyPNG returns an image whose upper part is noise, so that the file is almost as large as the service accepts. bytes is
// the number of bytes for a pixel. The file is not made by an encoder, which would take several seconds.
func noisyPNG(width, height int, depth, colours byte, bytes int) string {
	file := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, content []byte) {
		file = binary.BigEndian.AppendUint32(file, uint32(len(content)))
		start := len(file)
		file = append(append(file, name...), content...)
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(file[start:]))
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(width)), uint32(height))
	chunk("IHDR", append(header, depth, colours, 0, 0, 0))
	var data strings.Builder
	compressor, _ := zlib.NewWriterLevel(&data, zlib.BestSpeed) // the level is valid
	random, row := rand.NewChaCha8([32]byte{}), make([]byte, 1+width*bytes)
	for y := range height { // the first byte of a row says that it is not filtered; writing to memory cannot fail
		if y*len(row) < admission.MaxPhotoBytes-1<<20 {
			random.Read(row[1:])
		} else {
			clear(row)
		}
		compressor.Write(row)
	}
	compressor.Close()
	chunk("IDAT", []byte(data.String()))
	chunk("IEND", nil)
	return string(file)
}

// plainJPEG returns a JPEG file in which all blocks are empty, so it can be written without an encoder. With more than one
// scan, the file is progressive.
func plainJPEG(width, height, components, scans int) string {
	file := []byte{0xff, 0xd8}
	segment := func(marker byte, content ...byte) {
		length := len(content) + 2
		file = append(append(file, 0xff, marker, byte(length>>8), byte(length)), content...)
	}
	if components == 4 {
		segment(0xee, append([]byte("Adobe"), 0, 100, 0, 0, 0, 0, 0)...)
	}
	segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...)
	frame, scan := []byte{8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), byte(components)}, []byte{byte(components)}
	for id := range byte(components) {
		frame, scan = append(frame, id+1, 0x11, 0), append(scan, id+1, 0)
	}
	marker := byte(0xc0)
	if scans > 1 {
		marker = 0xc2
	}
	segment(marker, frame...)
	for class := range byte(2) { // one code of one bit: no difference for DC, the end of the block for AC
		segment(0xc4, append(append([]byte{class << 4, 1}, make([]byte, 15)...), 0)...)
	}
	blocks := (width + 7) / 8 * ((height + 7) / 8)
	if scans == 1 {
		segment(0xda, append(scan, 0, 63, 0)...)
		file = append(file, make([]byte, blocks*components/4+1)...)
		return string(append(file, 0xff, 0xd9))
	}
	segment(0xda, append(scan, 0, 0, 0)...)
	file = append(file, make([]byte, blocks*components/8+1)...)
	for n := range scans - 1 { // each scan may contain one component
		at := byte(1 + n/components)
		segment(0xda, 1, byte(1+n%components), 0, at, at, 0)
		file = append(file, make([]byte, blocks/8+1)...)
	}
	return string(append(file, 0xff, 0xd9))
}

// The service accepts the images of the attack, so that they cost what they can.
func TestUploadsAreAccepted(t *testing.T) {
	for i, u := range images() {
		original, err := photo.Inspect([]byte(u.content), u.contentType)
		if err == nil {
			_, err = original.Convert()
		}
		if err != nil || original.Cost() < 128<<20 || len(u.content) > admission.MaxPhotoBytes {
			t.Errorf("image %d with %d bytes: %v", i, len(u.content), err)
		}
	}
}
