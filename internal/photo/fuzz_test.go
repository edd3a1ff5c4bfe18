package photo

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"
)

// FuzzConvert converts any bytes: the result is a photo without metadata, or an Error.
func FuzzConvert(f *testing.F) {
	names := must(filepath.Glob("testdata/*.*"))(f)
	for _, name := range names {
		f.Add(must(os.ReadFile(name))(f))
	}
	f.Add(encodeJPEG(f, image.NewGray(image.Rect(0, 0, 20, 10))))
	f.Add(withPNGChunk(encodePNG(f, image.NewGray16(image.Rect(0, 0, 20, 10))), "iCCP", "\x00\x00"+deflate(profileOf("GRAY", 200))))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := Inspect(data, "")
		if err == nil && o.Cost() > 16<<20 {
			return // correct, but slow
		}
		var files Files
		if err == nil {
			files, err = o.Convert()
		}
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("got %T: %v", err, err)
			}
			return
		}
		for side, file := range map[int][]byte{SmallSide: files.Small, MediumSide: files.Medium, LargeSide: files.Large} {
			config, err := jpeg.DecodeConfig(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if longer := max(config.Width, config.Height); longer > side || longer > max(o.Width, o.Height) {
				t.Errorf("an image of %d × %d pixels became one of %d × %d", o.Width, o.Height, config.Width, config.Height)
			}
		}
	})
}
