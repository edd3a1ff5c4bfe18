package photo

import (
	"bytes"
	"encoding/binary"
)

// exifName begins the metadata in JPEG files, and in some WebP files.
const exifName = "Exif\x00\x00"

// readOrientation returns the orientation in Exif metadata: 1 if the image is upright or if nothing says how it is turned.
// Nothing else is read.
func readOrientation(exif []byte) int {
	const (
		orientationTag = 0x0112
		short          = 3 // the type of the value
		entrySize      = 12
	)
	exif = bytes.TrimPrefix(exif, []byte(exifName))
	if len(exif) < 8 {
		return 1
	}
	var order binary.ByteOrder
	switch string(exif[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	first := int64(order.Uint32(exif[4:])) // where the list of entries begins
	if first+2 > int64(len(exif)) {
		return 1
	}
	entries := exif[first+2:]
	for range order.Uint16(exif[first:]) {
		if len(entries) < entrySize {
			return 1
		}
		if order.Uint16(entries) == orientationTag && order.Uint16(entries[2:]) == short {
			if orientation := int(order.Uint16(entries[8:])); orientation >= 1 && orientation <= 8 {
				return orientation
			}
			return 1
		}
		entries = entries[entrySize:]
	}
	return 1
}
