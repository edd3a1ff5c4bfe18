package photo

import "encoding/binary"

// The memory that the decoder needs for lossless images, which the transparency of other images is, too.
const (
	losslessPerPixel = 7    // the pixels, and half of them again for a palette; the tiles of three transforms
	maxGroups        = 2600 // of Huffman trees, one for each tile
	groupSize        = 3 << 10
	maxGroupNodes    = 50 << 10 // bytes
	nodesPerByte     = 256      // the most bytes of nodes that a byte of the file can cause
)

// webpWalk collects what the chunks of a WebP file say.
type webpWalk struct {
	*Original
	canvas, alpha, lossy, lossless []byte
}

// inspectWebP walks through all chunks.
func inspectWebP(o *Original) error {
	size := int64(binary.LittleEndian.Uint32(o.data[4:]))
	if size > int64(len(o.data)-8) {
		return errCutShort
	}
	if size < 4 {
		return errDamaged
	}
	w := webpWalk{Original: o}
	for rest := o.data[12 : 8+size]; len(rest) > 0; {
		if len(rest) < 8 {
			return errDamaged
		}
		name, size := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:]))
		if size > int64(len(rest)-8) {
			return errDamaged
		}
		if err := w.chunk(name, rest[8:8+size]); err != nil {
			return err
		}
		rest = rest[min(8+size+size%2, int64(len(rest))):]
	}
	return w.finish()
}

// chunk reads a chunk. Of the image and its parts, the decoder reads the first of each, and so do we.
func (w *webpWalk) chunk(name string, content []byte) error {
	const animated = 1 << 1
	first := func(part *[]byte) {
		if *part == nil && w.lossy == nil && w.lossless == nil {
			*part = content
		}
	}
	switch name {
	case "VP8X":
		if len(content) != 10 {
			return errDamaged
		}
		if content[0]&animated != 0 {
			return errAnimated
		}
		first(&w.canvas)
	case "ANIM", "ANMF":
		return errAnimated
	case "ALPH":
		first(&w.alpha)
	case "VP8 ":
		first(&w.lossy)
	case "VP8L":
		first(&w.lossless)
	case "ICCP":
		w.profile = content
	case "EXIF":
		w.orientation = readOrientation(content)
	}
	return nil
}

var errAnimated = &Error{Reason: "The WebP image is animated. Send an image that does not move."}

// finish checks the image after all its chunks have been read.
func (w *webpWalk) finish() error {
	var width, height int
	var perPixel float64
	var more int64
	switch image := w.lossy; {
	case len(image) >= 10 && image[0]&1 == 0 && string(image[3:6]) == "\x9d\x01\x2a":
		width, height = int(binary.LittleEndian.Uint16(image[6:]))&0x3fff, int(binary.LittleEndian.Uint16(image[8:]))&0x3fff
		perPixel, more = 3, int64(len(image)) // the decoder copies the file
		if len(w.alpha) > 0 {
			perPixel++
			if w.alpha[0]&3 != 0 {
				perPixel += losslessPerPixel
				more += treeMemory(width, height, len(w.alpha))
			}
		}
	case len(w.lossless) >= 5 && w.lossless[0] == 0x2f:
		size := binary.LittleEndian.Uint32(w.lossless[1:])
		width, height = int(size&0x3fff)+1, int(size>>14&0x3fff)+1
		perPixel, more = losslessPerPixel, treeMemory(width, height, len(w.lossless))
	case w.lossy == nil && w.lossless == nil && w.canvas == nil:
		return errCutShort
	default:
		return errDamaged
	}
	if c := w.canvas; c != nil && (width != 1+int24(c[4:]) || height != 1+int24(c[7:])) {
		return errDamaged
	}
	return w.setSize(width, height, perPixel, more)
}

// treeMemory returns how much memory the Huffman trees of a lossless image can take. A group of them belongs to each tile
// of at least 4 × 4 pixels.
func treeMemory(width, height, size int) int64 {
	groups := int64(min(maxGroups, (width+3)/4*((height+3)/4)))
	return groups*groupSize + min(groups*maxGroupNodes, int64(size)*nodesPerByte)
}

func int24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
