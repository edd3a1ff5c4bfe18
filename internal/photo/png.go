package photo

import (
	"encoding/binary"
	"strings"
)

const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	pngPalette   = 3 // the type of images that refer to a palette; all other types are sums of the following
	pngColour    = 2
	pngAlpha     = 4
	// maxInflation is how much longer data can get by inflating it.
	maxInflation = 1032
)

// pngDepths lists the number of bits that a sample may have, by the type of the image.
var pngDepths = map[byte]string{0: "\x01\x02\x04\x08\x10", 2: "\x08\x10", 3: "\x01\x02\x04\x08", 4: "\x08\x10", 6: "\x08\x10"}

// inspectPNG walks through all chunks.
func inspectPNG(o *Original) error {
	var header []byte
	transparent, compressed := false, 0
	for rest := o.data[len(pngSignature):]; ; {
		if len(rest) < 12 {
			return errCutShort
		}
		size, name := int64(binary.BigEndian.Uint32(rest)), string(rest[4:8])
		if size > int64(len(rest)-12) {
			return errCutShort
		}
		content := rest[8 : 8+size]
		rest = rest[12+size:] // a checksum follows the content
		if header == nil && name != "IHDR" {
			return errDamaged
		}
		switch name {
		case "IHDR":
			if size != 13 || header != nil {
				return errDamaged
			}
			header = content
		case "tRNS":
			transparent = true
		case "iCCP":
			o.profile = content
		case "eXIf":
			o.orientation = readOrientation(content)
		case "IDAT":
			compressed += len(content)
		case "IEND":
			return o.finishPNG(header, transparent, compressed)
		}
	}
}

// finishPNG checks the image after all its chunks have been read.
func (o *Original) finishPNG(header []byte, transparent bool, compressed int) error {
	width, height := int64(binary.BigEndian.Uint32(header)), int64(binary.BigEndian.Uint32(header[4:]))
	depth, colours, interlaced := header[8], header[9], header[12]
	if strings.IndexByte(pngDepths[colours], depth) < 0 || width > 1<<31-1 || height > 1<<31-1 {
		return errDamaged
	}
	o.grey = colours&pngColour == 0
	bits, perPixel := int64(depth), 1.0 // of the data, and bytes of the decoded image
	switch {
	case colours == pngPalette:
	case o.grey && colours&pngAlpha == 0 && !transparent: // a grey image stays one
	default:
		perPixel = 4
	}
	if colours == pngColour || colours == pngColour|pngAlpha {
		bits *= 3
	}
	if colours&pngAlpha != 0 {
		bits += int64(depth)
	}
	if depth == 16 {
		perPixel *= 2
	}
	if interlaced != 0 {
		perPixel *= 2 // each pass is an image of its own, and together they have as many pixels
	}
	if err := o.setSize(int(width), int(height), perPixel, 0); err != nil {
		return err
	}
	if needed := height * (1 + (width*bits+7)/8); needed/maxInflation > int64(compressed) {
		return errCutShort
	}
	return nil
}
