package photo

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"slices"

	"animalstore/internal/admission"
)

const (
	// iccName begins each segment of a JPEG file that contains a part of the colour profile.
	iccName = "ICC_PROFILE\x00"
	// maxSegment is how many bytes of a colour profile fit into one segment, beside its length, its name and two numbers.
	maxSegment = 0xffff - 2 - len(iccName) - 2
	// iccHeader is the size of the header of a colour profile.
	iccHeader = 128
)

// joinProfile joins the parts of a colour profile. Each begins with its number and the number of all parts. If one is
// missing, there is no profile.
func joinProfile(chunks [][]byte) []byte {
	if len(chunks) == 0 || len(chunks) > admission.MaxPhotoProfile/1024 {
		return nil
	}
	parts := make([][]byte, len(chunks))
	for _, chunk := range chunks {
		if len(chunk) < 2 || int(chunk[1]) != len(chunks) || chunk[0] == 0 || int(chunk[0]) > len(chunks) {
			return nil
		}
		parts[chunk[0]-1] = chunk[2:]
	}
	if slices.ContainsFunc(parts, func(part []byte) bool { return part == nil }) {
		return nil
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return slices.Concat(parts...)
}

// inflateProfile returns the colour profile of a PNG file: a name, a zero, the method and the compressed profile. It
// returns nil if the profile is damaged or too large.
func inflateProfile(chunk []byte) []byte {
	_, compressed, found := bytes.Cut(chunk, []byte{0})
	if !found || len(compressed) < 1 || compressed[0] != 0 {
		return nil
	}
	reader, err := zlib.NewReader(bytes.NewReader(compressed[1:]))
	if err != nil {
		return nil
	}
	profile, err := io.ReadAll(io.LimitReader(reader, admission.MaxPhotoProfile+1))
	if err != nil {
		return nil
	}
	return profile
}

// keptProfile returns the profile if it may stay in the photo, and nil otherwise: its colours must be those of the photo.
func keptProfile(profile []byte, grey bool) []byte {
	if len(profile) < iccHeader || string(profile[36:40]) != "acsp" {
		return nil
	}
	space := "RGB "
	if grey {
		space = "GRAY"
	}
	size := int64(binary.BigEndian.Uint32(profile))
	if string(profile[16:20]) != space || size < iccHeader || size > int64(len(profile)) || size > admission.MaxPhotoProfile {
		return nil
	}
	return profile[:size] // nothing can hide behind it
}

// profileSegments returns the segments of a JPEG file that contain the profile.
func profileSegments(profile []byte) (segments []byte) {
	parts := slices.Collect(slices.Chunk(profile, maxSegment))
	for i, part := range parts {
		segments = append(segments, 0xff, app2)
		segments = binary.BigEndian.AppendUint16(segments, uint16(2+len(iccName)+2+len(part)))
		segments = append(segments, iccName...)
		segments = append(segments, byte(i+1), byte(len(parts)))
		segments = append(segments, part...)
	}
	return segments
}
