package photo

import (
	"image"
	"image/draw"
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
	} {
		o := must(Inspect(c.data, ""))(t)
		if o.Cost() < c.formula*width*height {
			t.Errorf("%s: the cost is %d, less than %d bytes for each pixel", name, o.Cost(), c.formula)
		}
		const output = 3*width*height + 1<<20 // the large file and its planes, which come later
		if bytes := allocated(func() { o.decode() }); int64(bytes) > o.Cost()+output {
			t.Errorf("%s: decoding has allocated %d bytes, for a cost of %d", name, bytes, o.Cost())
		}
	}
}
