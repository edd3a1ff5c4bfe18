package photo

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// Images of every kind look right.
func TestPhotosLookLikeTheirOriginals(t *testing.T) {
	t.Parallel()
	want := scene(t)
	onWhite := image.NewRGBA(want.Bounds())
	draw.Draw(onWhite, onWhite.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(onWhite, onWhite.Rect, must(png.Decode(bytes.NewReader(testFile(t, "cutout.png"))))(t), image.Point{}, draw.Over)
	deep := image.NewNRGBA64(want.Bounds()) // 16 bits
	draw.Draw(deep, deep.Rect, want, image.Point{}, draw.Src)
	for name, c := range map[string]struct {
		data []byte
		want image.Image
	}{
		"scene.png": {}, "444.jpg": {}, "422.jpg": {}, "411.jpg": {}, "progressive.jpg": {}, "rgb.jpg": {}, "cmyk.jpg": {}, "ycck.jpg": {},
		"lossy.webp": {}, "lossless.webp": {}, "16 bits": {data: encodePNG(t, deep)},
		"cutout.png": {want: onWhite}, "cutout.webp": {want: onWhite}, "cutout-lossless.webp": {want: onWhite},
	} {
		t.Run(name, func(t *testing.T) {
			if c.data == nil {
				c.data = testFile(t, name)
			}
			if c.want == nil {
				c.want = want
			}
			wantSame(t, decodeJPEG(t, convert(t, c.data).Large), c.want, 15)
		})
	}
}

// Grey images stay grey: each file has a single component.
func TestGreyStaysGrey(t *testing.T) {
	t.Parallel()
	grey := image.NewGray(image.Rect(0, 0, 96, 64))
	deep, transparent := image.NewGray16(grey.Rect), image.NewNRGBA(grey.Rect)
	draw.Draw(grey, grey.Rect, scene(t), image.Point{}, draw.Src)
	draw.Draw(deep, deep.Rect, grey, image.Point{}, draw.Src)
	draw.Draw(transparent, transparent.Rect, grey, image.Point{}, draw.Src)
	// The standard library does not write grey PNG files with transparent pixels: make one.
	var rows bytes.Buffer
	for y := range 64 {
		rows.WriteByte(0)
		for x := range 96 {
			alpha := byte(255)
			if x < 48 {
				alpha = 0
			}
			rows.Write([]byte{grey.GrayAt(x, y).Y, alpha})
			if x < 48 {
				transparent.Set(x, y, color.White)
			}
		}
	}
	for name, c := range map[string]struct {
		data []byte
		want image.Image
	}{
		"JPEG":             {encodeJPEG(t, grey), grey},
		"PNG":              {encodePNG(t, grey), grey},
		"PNG, 16 bits":     {encodePNG(t, deep), grey},
		"PNG, transparent": {pngSays(96, 64, 8, pngAlpha, deflate(rows.String())), transparent},
	} {
		got := decodeJPEG(t, convert(t, c.data).Large)
		if _, isGrey := got.(*image.Gray); !isGrey {
			t.Errorf("%s became %T", name, got)
		}
		wantSame(t, got, c.want, 20) // the edge of the transparent pixels is sharp
	}
}

// upright returns an image that looks different from each side.
func upright(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.NRGBA{byte(255 * x / width), byte(255 * y / height), 128, 255})
		}
	}
	return img
}

// stored returns an image as a camera stores it with this orientation. As in the standard, the table says which side of
// the upright image the first row and the first column of the stored image are.
func stored(img image.Image, orientation int) image.Image {
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	size := image.Rect(0, 0, width, height)
	if orientation >= 5 {
		size = image.Rect(0, 0, height, width)
	}
	result := image.NewNRGBA(size)
	for row := range size.Dy() {
		for column := range size.Dx() {
			at := [9]image.Point{
				1: {column, row},                          // top, left
				2: {width - 1 - column, row},              // top, right
				3: {width - 1 - column, height - 1 - row}, // bottom, right
				4: {column, height - 1 - row},             // bottom, left
				5: {row, column},                          // left, top
				6: {width - 1 - row, column},              // right, top
				7: {width - 1 - row, height - 1 - column}, // right, bottom
				8: {row, height - 1 - column},             // left, bottom
			}[orientation]
			result.Set(column, row, img.At(at.X, at.Y))
		}
	}
	return result
}

// Photos are upright, whatever the orientation of the original and wherever it is written.
func TestPhotosAreUpright(t *testing.T) {
	t.Parallel()
	want := upright(61, 43)
	for orientation := 1; orientation <= 8; orientation++ {
		img := stored(want, orientation)
		order := []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}[orientation%2]
		exif := exifOf(order, orientation)
		for _, data := range [][]byte{
			withSegment(encodeJPEG(t, img), app1, exifName+exif),
			withPNGChunk(encodePNG(t, img), "eXIf", exif),
		} {
			files := convert(t, data)
			if files.Width != 61 || files.Height != 43 {
				t.Errorf("orientation %d: the photo has %d × %d pixels", orientation, files.Width, files.Height)
			}
			wantSame(t, decodeJPEG(t, files.Large), want, 15)
		}
	}
	lossless := string(testFile(t, "lossless.webp")[20:])
	turned := webpOf("VP8X", canvas(1<<3, 96, 64), "VP8L", lossless, "EXIF", exifName+exifOf(binary.BigEndian, 6))
	if files := convert(t, turned); files.Width != 64 || files.Height != 96 {
		t.Errorf("the photo has %d × %d pixels", files.Width, files.Height)
	}
	for _, damaged := range []string{"", "II*\x00\xff\xff\xff\xff", "MM\x00*\x00\x00\x00\x08\xff\xff", exifOf(binary.BigEndian, 9), exifOf(binary.LittleEndian, 6)[:30]} {
		if got := readOrientation([]byte(damaged)); got != 1 {
			t.Errorf("%q: got %d", damaged, got)
		}
	}
}

// The longer sides have at most 1600, 800 and 320 pixels. Nothing is enlarged.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		img                  image.Image
		small, medium, large image.Point
	}{
		{image.NewGray(image.Rect(0, 0, 4000, 3000)), image.Pt(320, 240), image.Pt(800, 600), image.Pt(1600, 1200)},
		{image.NewGray(image.Rect(0, 0, 1001, 1999)), image.Pt(160, 320), image.Pt(401, 800), image.Pt(801, 1600)},
		{image.NewGray(image.Rect(0, 0, 1600, 900)), image.Pt(320, 180), image.Pt(800, 450), image.Pt(1600, 900)},
		{image.NewGray(image.Rect(0, 0, 500, 400)), image.Pt(320, 256), image.Pt(500, 400), image.Pt(500, 400)},
		{image.NewGray(image.Rect(0, 0, 16_384, 1)), image.Pt(320, 1), image.Pt(800, 1), image.Pt(1600, 1)},
		{image.NewGray(image.Rect(0, 0, 1, 1)), image.Pt(1, 1), image.Pt(1, 1), image.Pt(1, 1)},
	} {
		files := convert(t, encodePNG(t, c.img))
		got := []image.Point{decodeJPEG(t, files.Small).Bounds().Max, decodeJPEG(t, files.Medium).Bounds().Max, decodeJPEG(t, files.Large).Bounds().Max}
		if want := []image.Point{c.small, c.medium, c.large}; !slices.Equal(got, want) || c.large != image.Pt(files.Width, files.Height) {
			t.Errorf("%v: got %v (%d × %d), want %v", c.img.Bounds(), got, files.Width, files.Height, want)
		}
	}
}

// Nothing of the metadata survives.
func TestMetadataIsRemoved(t *testing.T) {
	t.Parallel()
	exif := exifOf(binary.LittleEndian, 1)
	jpeg := testFile(t, "444.jpg")
	for _, segment := range []struct {
		marker  byte
		content string
	}{
		{app1, exifName + exif}, {app1, "http://ns.adobe.com/xap/1.0/\x00<x:xmpmeta>GPSLatitude</x:xmpmeta>"}, {0xed, "Photoshop 3.0\x00GPS"},
		{com, "GPS"}, {app0, "JFXX\x00\x10GPS"}, {app2, "MPF\x00GPS"}, {app15, "GPS"},
	} {
		jpeg = withSegment(jpeg, segment.marker, segment.content)
	}
	jpeg = append(jpeg, "GPS behind the end"...)
	lossless := string(testFile(t, "lossless.webp")[20:])
	for name, data := range map[string][]byte{
		"JPEG": jpeg,
		"PNG":  withPNGChunk(withPNGChunk(testFile(t, "scene.png"), "eXIf", exif), "tEXt", "Comment\x00GPS"),
		"WebP": webpOf("VP8X", canvas(3<<2, 96, 64), "VP8L", lossless, "EXIF", exif, "XMP ", "GPS"),
	} {
		if !bytes.Contains(data, []byte("GPS")) {
			t.Fatal("the original has no position")
		}
		files := convert(t, data)
		for _, file := range [][]byte{files.Small, files.Medium, files.Large} {
			if bytes.Contains(file, []byte("GPS")) {
				t.Errorf("%s: the position survived", name)
			}
			if got := segments(file); got != "DQT SOF DHT SOS EOI" {
				t.Errorf("%s: the photo has the segments %s", name, got)
			}
		}
	}
}

// segments returns the names of the segments of a JPEG file, up to its end, which must be that of the file.
func segments(file []byte) string {
	var names []string
	for i := 2; ; {
		begin, end := nextMarker(file, i)
		if end < 0 {
			return strings.Join(names, " ")
		}
		marker := file[end-1]
		name := map[byte]string{dqt: "DQT", sof0: "SOF", dht: "DHT", sos: "SOS", app2: "ICC"}[marker]
		if marker == eoi && end == len(file) {
			return strings.Join(append(names, "EOI"), " ")
		}
		names = append(names, name)
		i = begin + 2 + int(binary.BigEndian.Uint16(file[end:]))
	}
}
