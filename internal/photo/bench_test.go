package photo

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// cameraPhoto is a JPEG file of 12 megapixels that is as hard to compress as a photo: light and shadow, texture and noise.
var cameraPhoto = sync.OnceValue(func() []byte {
	const width, height = 4000, 3000
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	random := rand.New(rand.NewPCG(7, 8))
	for y := range height {
		for x := range width {
			light := 128 + 60*math.Sin(float64(x)/310)*math.Cos(float64(y)/270)
			texture := 25 * math.Sin(float64(x)/3+10*math.Sin(float64(y)/50))
			img.Y[y*img.YStride+x] = byte(light + texture + 6*random.NormFloat64())
			if x%2 == 0 && y%2 == 0 {
				img.Cb[y/2*img.CStride+x/2] = byte(128 + 40*math.Sin(float64(x)/500) + 2*random.NormFloat64())
				img.Cr[y/2*img.CStride+x/2] = byte(128 + 40*math.Cos(float64(y)/400) + 2*random.NormFloat64())
			}
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 90}); err != nil {
		panic(err)
	}
	return b.Bytes()
})

// BenchmarkConvert compares the conversion of a photo of 12 megapixels with decoding it. The conversion should cost at
// most 2.5 times as much.
func BenchmarkConvert(b *testing.B) {
	data := cameraPhoto()
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := jpeg.Decode(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("inspect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Inspect(data, "image/jpeg"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("convert", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			files := convert(b, data)
			b.ReportMetric(float64(len(files.Small)+len(files.Medium)+len(files.Large))/1e3, "KB")
		}
	})
}
