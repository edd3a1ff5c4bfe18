package photo

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image"
	"slices"
	"strings"
	"testing"
)

// lastScan returns the last scan of a JPEG file, without the end of the image.
func lastScan(file []byte) []byte {
	return file[bytes.LastIndex(file, []byte{0xff, sos}) : len(file)-2]
}

// withScans returns a JPEG file that repeats its last scan.
func withScans(file []byte, n int) []byte {
	return slices.Concat(file[:len(file)-2], bytes.Repeat(lastScan(file), n), []byte{0xff, eoi})
}

// Bad images are refused by what their first bytes and their headers say, with a reason that people understand. Nothing is
// decoded: that is, little memory is allocated.
func TestBadImagesCostNothing(t *testing.T) {
	grey := encodeJPEG(t, image.NewGray(image.Rect(0, 0, 64, 64)))
	colour, progressive := testFile(t, "444.jpg"), testFile(t, "progressive.jpg")
	cmyk := testFile(t, "cmyk.jpg")
	adobe := bytes.Index(cmyk, []byte("Adobe"))
	twelveBits, arithmetic := slices.Clone(grey), slices.Clone(grey)
	frame := bytes.Index(grey, []byte{0xff, sof0})
	twelveBits[frame+4], arithmetic[frame+1] = 12, 0xc9
	lossless := string(testFile(t, "lossless.webp")[20:])
	huge := binary.LittleEndian.AppendUint32([]byte{0x2f}, 16382|16382<<14)
	for _, c := range []struct {
		name, contentType string
		data              []byte
		want              string
	}{
		{"nothing", "image/jpeg", nil, "The file is empty."},
		{"text", "image/jpeg", []byte("Rex, a dog"), "not an image. Send a JPEG, PNG or WebP file."},
		{"HTML", "image/jpeg", []byte("\n<!DOCTYPE html><title>rex.jpg</title><svg>"), "an HTML page"},
		{"SVG", "image/png", []byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`), "an SVG drawing"},
		{"GIF", "image/png", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"), "a GIF image"},
		{"HEIC", "image/jpeg", []byte("\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic"), "The file is a HEIC photo. Send a JPEG: on an iPhone choose Settings > Camera"},
		{"AVIF", "image/jpeg", []byte("\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1avif"), "an AVIF image"},
		{"video", "image/jpeg", []byte("\x00\x00\x00\x14ftypisom\x00\x00\x02\x00mp41"), "a video"},
		{"PNG sent as JPEG", "image/jpeg", testFile(t, "scene.png"), `The file is a PNG image, but it was sent as "image/jpeg". Send it as "image/png".`},
		{"a type that is no image", "text/html", grey, `sent as "text/html"`},

		{"wide JPEG", "image/jpeg", jpegSays(grey, 60_000, 60_000), "60000 × 60000 pixels. Each side may have at most 16384"},
		{"JPEG of 60 megapixels", "image/jpeg", jpegSays(grey, 10_000, 6000), "60.0 megapixels. It may have at most 50"},
		{"JPEG without pixels", "image/jpeg", jpegSays(grey, 0, 10), "damaged"},
		{"progressive JPEG of 20 megapixels", "image/jpeg", jpegSays(progressive, 5000, 4000), "memory"},
		{"CMYK JPEG of 40 megapixels", "image/jpeg", jpegSays(cmyk, 8000, 5000), "memory"},
		{"RGB JPEG of 40 megapixels", "image/jpeg", jpegSays(testFile(t, "rgb.jpg"), 8000, 5000), "memory"},
		{"1,000 scans", "image/jpeg", withScans(progressive, 1000), "at most 64"},
		{"scans in a table", "image/jpeg", withSegment(progressive, dht, strings.Repeat(string(lastScan(progressive)), 100)), "at most 64"},
		{"a repeated sequential scan", "image/jpeg", withScans(colour, 3), "damaged"},
		{"two frames", "image/jpeg", withSegment(grey, sof0, string(grey[frame+4:frame+13])), "damaged"},
		{"CMYK without a word of Adobe", "image/jpeg", slices.Concat(cmyk[:adobe-4], cmyk[adobe+12:]), "rare kind"},
		{"JPEG with 12 bits", "image/jpeg", twelveBits, "rare kind"},
		{"JPEG with arithmetic coding", "image/jpeg", arithmetic, "rare kind"},
		{"JPEG without a scan", "image/jpeg", []byte{0xff, 0xd8, 0xff, eoi}, "damaged"},
		{"JPEG cut in its middle", "image/jpeg", colour[:len(colour)/2], "cut short"},

		{"wide PNG", "image/png", pngSays(60_000, 60_000, 8, 2, ""), "16384"},
		{"PNG of 60 megapixels", "image/png", pngSays(10_000, 6000, 8, 2, ""), "megapixels"},
		{"PNG of 40 megapixels with 16 bits", "image/png", pngSays(8000, 5000, 16, 6, ""), "memory"},
		{"PNG with far too little data", "image/png", pngSays(7000, 7000, 8, 2, strings.Repeat("x", 10_000)), "cut short"},
		{"PNG of an unknown type", "image/png", pngSays(10, 10, 4, 6, ""), "damaged"},
		{"PNG cut in its middle", "image/png", testFile(t, "scene.png")[:1000], "cut short"},

		{"animated WebP", "image/webp", testFile(t, "animated.webp"), "animated"},
		{"WebP with a frame of an animation", "image/webp", webpOf("ANMF", lossless, "VP8L", lossless), "animated"},
		{"WebP of 268 megapixels", "image/webp", webpOf("VP8L", string(huge)), "megapixels"},
		{"WebP whose canvas is another one", "image/webp", webpOf("VP8X", canvas(0, 16_384, 16_384), "VP8L", lossless), "damaged"},
		{"WebP without an image", "image/webp", webpOf("VP8X", canvas(0, 10, 10)), "damaged"},
		{"WebP cut in its middle", "image/webp", testFile(t, "lossy.webp")[:500], "cut short"},
	} {
		var err error
		bytes := allocated(func() { _, err = Inspect(c.data, c.contentType) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if bytes > 8<<10 {
			t.Errorf("%s: %d bytes were allocated", c.name, bytes)
		}
	}
}

// An image is accepted as its own type, with parameters, or without any type.
func TestTypesAreAccepted(t *testing.T) {
	for contentType, data := range map[string][]byte{
		"image/jpeg":              testFile(t, "444.jpg"),
		"IMAGE/PNG; charset=utf8": testFile(t, "scene.png"),
		"image/webp":              testFile(t, "lossy.webp"),
		"":                        testFile(t, "lossy.webp"),
	} {
		if _, err := Inspect(data, contentType); err != nil {
			t.Errorf("%q: %v", contentType, err)
		}
	}
}

// A file that is cut anywhere is refused. Of a JPEG and a WebP file, the header says so.
func TestCutFilesAreRefused(t *testing.T) {
	for _, name := range []string{"444.jpg", "progressive.jpg", "cmyk.jpg", "scene.png", "cutout.webp", "lossy.webp", "lossless.webp"} {
		data := testFile(t, name)
		for n := range len(data) {
			if _, err := Inspect(data[:n], ""); err == nil {
				t.Errorf("%s with %d of %d bytes is accepted", name, n, len(data))
			}
		}
	}
}

// Damage that the header does not show costs at most one decode.
func TestDamagedFilesAreRefused(t *testing.T) {
	scene := testFile(t, "scene.png")
	flipped := slices.Clone(scene)
	flipped[len(flipped)/2] ^= 1
	lossy := testFile(t, "lossy.webp")
	short := webpOf("VP8 ", string(lossy[20:len(lossy)/2]))
	jpeg := jpegSays(testFile(t, "444.jpg"), 1000, 1000)
	for name, data := range map[string][]byte{"a wrong checksum": flipped, "a short image": short, "fewer blocks than pixels": jpeg} {
		cost := must(Inspect(data, ""))(t).Cost()
		bytes := allocated(func() { refusal(t, data) })
		if bytes > uint64(cost)+1<<20 {
			t.Errorf("%s: %d bytes were allocated, for a cost of %d", name, bytes, cost)
		}
	}
}

// A PNG file whose data inflates to more than its pixels is read no further than the pixels.
func TestDecompressionBombsAreNotInflated(t *testing.T) {
	var bomb bytes.Buffer
	w := zlib.NewWriter(&bomb)
	for range 100 {
		w.Write(make([]byte, 1<<20))
	}
	w.Close()
	data := pngSays(100, 100, 8, 0, bomb.String())
	if bytes := allocated(func() { refusal(t, data) }); bytes > 1<<20 {
		t.Errorf("%d bytes were allocated", bytes)
	}
	profile := withPNGChunk(testFile(t, "scene.png"), "iCCP", "bomb\x00\x00"+bomb.String())
	if bytes := allocated(func() { convert(t, profile) }); bytes > 1<<20 {
		t.Errorf("%d bytes were allocated for the colour profile", bytes)
	}
}

// Scans in a comment are not scans: the decoder does not get to see them.
func TestCommentsAreNotDecoded(t *testing.T) {
	progressive := testFile(t, "progressive.jpg")
	scans := bytes.Repeat(lastScan(progressive), 200)
	end := len(progressive) - len(lastScan(progressive)) - 2
	data := slices.Concat(progressive[:end], withSegment([]byte{0, 0}, com, string(scans))[2:], progressive[end:])
	o := must(Inspect(data, "image/jpeg"))(t)
	for _, run := range o.runs {
		if bytes.Contains(run, scans) {
			t.Error("the decoder gets the comment")
		}
	}
	wantSame(t, decodeJPEG(t, must(o.Convert())(t).Large), decodeJPEG(t, convert(t, progressive).Large), 0)
}
