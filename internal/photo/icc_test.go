package photo

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image"
	"math/rand/v2"
	"strings"
	"testing"
)

// deflate compresses a text.
func deflate(text string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

// profileOf returns a colour profile of this size for these colours.
func profileOf(space string, size int) string {
	profile := make([]byte, size)
	noise(rand.New(rand.NewPCG(5, 6)), profile)
	binary.BigEndian.PutUint32(profile, uint32(size))
	copy(profile[16:], space)
	copy(profile[36:], "acsp")
	return string(profile)
}

// inSegment returns a part of a profile as a segment of a JPEG file contains it.
func inSegment(number, parts byte, part string) string {
	return iccName + string([]byte{number, parts}) + part
}

// profileIn returns the colour profile of a photo.
func profileIn(t *testing.T, file []byte) string {
	t.Helper()
	var chunks [][]byte
	for i := 2; file[i+1] == app2; i += 2 + int(binary.BigEndian.Uint16(file[i+2:])) {
		chunks = append(chunks, file[i+4+len(iccName):i+2+int(binary.BigEndian.Uint16(file[i+2:]))])
	}
	decodeJPEG(t, file)
	return string(joinProfile(chunks))
}

// A colour profile for the colours of the photo is kept in each of its files. All others are dropped.
func TestColourProfiles(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	rgb, largest, grey := profileOf("RGB ", 3144), profileOf("RGB ", most), profileOf("GRAY", 400)
	colour, cmyk, png := testFile(t, "444.jpg"), testFile(t, "cmyk.jpg"), testFile(t, "scene.png")
	greyJPEG := encodeJPEG(t, image.NewGray(image.Rect(0, 0, 900, 20)))
	greyPNG := encodePNG(t, image.NewGray(image.Rect(0, 0, 900, 20)))
	lossless := string(testFile(t, "lossless.webp")[20:])
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"RGB", withSegment(colour, app2, inSegment(1, 1, rgb)), rgb},
		{"the largest, in parts in any order", withSegment(withSegment(colour, app2, inSegment(1, 2, largest[:40_000])), app2, inSegment(2, 2, largest[40_000:])), largest},
		{"PNG", withPNGChunk(png, "iCCP", "sRGB\x00\x00"+deflate(rgb)), rgb},
		{"WebP", webpOf("VP8X", canvas(1<<5, 96, 64), "ICCP", rgb, "VP8L", lossless), rgb},
		{"grey", withSegment(greyJPEG, app2, inSegment(1, 1, grey)), grey},
		{"grey PNG", withPNGChunk(greyPNG, "iCCP", "grey\x00\x00"+deflate(grey)), grey},
		{"with something behind it", withSegment(colour, app2, inSegment(1, 1, rgb+"GPS")), rgb},

		{"too large", withSegment(withSegment(colour, app2, inSegment(1, 2, profileOf("RGB ", most+1)[:40_000])), app2, inSegment(2, 2, profileOf("RGB ", most+1)[40_000:])), ""},
		{"too large PNG", withPNGChunk(png, "iCCP", "sRGB\x00\x00"+deflate(profileOf("RGB ", most+1))), ""},
		{"a missing part", withSegment(colour, app2, inSegment(1, 2, rgb)), ""},
		{"a repeated part", withSegment(withSegment(colour, app2, inSegment(1, 2, rgb)), app2, inSegment(1, 2, rgb)), ""},
		{"cut short", withSegment(colour, app2, inSegment(1, 1, rgb[:1000])), ""},
		{"damaged PNG", withPNGChunk(png, "iCCP", "sRGB\x00\x00"+deflate(rgb)[:1000]), ""},
		{"not a profile", withSegment(colour, app2, inSegment(1, 1, strings.Repeat("GPS", 1000))), ""},
		{"grey for colours", withSegment(colour, app2, inSegment(1, 1, grey)), ""},
		{"RGB for grey", withSegment(greyJPEG, app2, inSegment(1, 1, rgb)), ""},
		{"CMYK", withSegment(cmyk, app2, inSegment(1, 1, profileOf("CMYK", 1000))), ""},
		{"RGB for CMYK", withSegment(cmyk, app2, inSegment(1, 1, rgb)), ""},
	} {
		files := convert(t, c.data)
		for _, file := range [][]byte{files.Small, files.Medium, files.Large} {
			if got := profileIn(t, file); got != c.want {
				t.Errorf("%s: the profile has %d bytes, want %d", c.name, len(got), len(c.want))
			}
			if bytes.Contains(file, []byte("GPS")) {
				t.Errorf("%s: what is no profile survived", c.name)
			}
		}
	}
}
