package photo

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/draw"
	"strings"
	"testing"
)

// Cost is no less than what decoding takes.
func TestCostCoversDecoding(t *testing.T) {
	const width, height = 1500, 1000
	bounds := image.Rect(0, 0, width, height)
	grey, rgb, deep := image.NewGray(bounds), image.NewRGBA(bounds), image.NewNRGBA64(bounds)
	draw.Draw(rgb, bounds, image.White, image.Point{}, draw.Src)
	for name, c := range map[string]struct {
		data    []byte
		formula int64 // bytes for each pixel, as the documents say
	}{
		"grey JPEG":        {encodeJPEG(t, grey), 1},
		"JPEG":             {encodeJPEG(t, rgb), 3},
		"RGB JPEG":         {jpegSays(testFile(t, "rgb.jpg"), width, height), 3},
		"CMYK JPEG":        {jpegSays(testFile(t, "cmyk.jpg"), width, height), 4},
		"progressive JPEG": {jpegSays(testFile(t, "progressive.jpg"), width, height), 3 * 5},
		"grey PNG":         {encodePNG(t, grey), 1},
		"RGB PNG":          {encodePNG(t, rgb), 3},
		"16-bit PNG":       {encodePNG(t, deep), 8},
		"interlaced PNG":   {interlacedPNG(width, height), 3},
	} {
		o := must(Inspect(c.data, ""))(t)
		if o.Cost() < c.formula*width*height {
			t.Errorf("%s: the cost is %d, less than %d bytes for each pixel", name, o.Cost(), c.formula)
		}
		const output = 3*width*height + 1<<20 // the large file and its planes, which come later
		if bytes := allocated(func() { o.decode() }); int64(bytes) > o.Cost()+output {
			t.Errorf("%s: decoding has allocated %d bytes, for a cost of %d", name, bytes, o.Cost())
		}
		if _, err := o.decode(); err != nil && strings.HasSuffix(name, "PNG") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// interlacedPNG returns a black image in seven passes. All of its data is zero.
func interlacedPNG(width, height int) []byte {
	size := 0
	for _, pass := range [7][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} {
		columns, rows := (width-pass[0]+pass[2]-1)/pass[2], (height-pass[1]+pass[3]-1)/pass[3]
		size += rows * (1 + 3*columns)
	}
	file := pngSays(width, height, 8, pngColour, deflate(string(make([]byte, size))))
	const method = len(pngSignature) + 8 + 12 // how it is interlaced, before the checksum of the header
	file[method] = 1
	binary.BigEndian.PutUint32(file[method+1:], crc32.ChecksumIEEE(file[len(pngSignature)+4:method+1]))
	return file
}
