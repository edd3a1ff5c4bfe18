package photo

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"
)

// reference returns the average colour of the area that a pixel of the result covers, computed in the simplest way.
func reference(at func(x, y int) float64, width, height, newWidth, newHeight, x, y int) float64 {
	overlap := func(i int, begin, end float64) float64 {
		return math.Min(float64(i+1), end) - math.Max(float64(i), begin)
	}
	left, right := float64(x*width)/float64(newWidth), float64((x+1)*width)/float64(newWidth)
	top, bottom := float64(y*height)/float64(newHeight), float64((y+1)*height)/float64(newHeight)
	sum := 0.0
	for sy := int(top); float64(sy) < bottom && sy < height; sy++ {
		for sx := int(left); float64(sx) < right && sx < width; sx++ {
			sum += at(sx, sy) * math.Max(0, overlap(sx, left, right)) * math.Max(0, overlap(sy, top, bottom))
		}
	}
	return sum / ((right - left) * (bottom - top))
}

// noise fills samples with random values.
func noise(random *rand.Rand, samples []byte) {
	for i := range samples {
		samples[i] = byte(random.Uint32())
	}
}

// Each pixel of a scaled image is the average of the area that it covers, in each plane, whatever the subsampling.
func TestScalingAverages(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410} {
		for _, size := range [][4]int{{401, 267, 97, 65}, {64, 40, 64, 40}, {301, 3, 16, 1}, {1, 1, 1, 1}, {200, 200, 199, 101}} {
			width, height, newWidth, newHeight := size[0], size[1], size[2], size[3]
			img := image.NewYCbCr(image.Rect(0, 0, width, height), ratio)
			for _, plane := range [][]byte{img.Y, img.Cb, img.Cr} {
				noise(random, plane)
			}
			p := reduced(img, false, false, newWidth, newHeight)
			for c, plane := range p.planes {
				at := func(x, y int) float64 {
					pixel := img.YCbCrAt(x, y)
					return float64([]byte{pixel.Y, pixel.Cb, pixel.Cr}[c])
				}
				for i, got := range plane {
					want := reference(at, width, height, newWidth, newHeight, i%newWidth, i/newWidth)
					if math.Abs(float64(got)-want) > 0.6 {
						t.Fatalf("%v %v: plane %d has %d at %d, want %.2f", ratio, size, c, got, i, want)
					}
				}
			}
		}
	}
}

// The rows of every kind of image that a decoder returns are read as the standard library reads its pixels, over white.
func TestRowsOfAllKindsOfImages(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	bounds := image.Rect(0, 0, 50, 40)
	rgba, rgba64 := image.NewRGBA(bounds), image.NewRGBA64(bounds)
	nrgba, nrgba64 := image.NewNRGBA(bounds), image.NewNRGBA64(bounds)
	grey16, cmyk := image.NewGray16(bounds), image.NewCMYK(bounds)
	paletted := image.NewPaletted(bounds, nil)
	for range 256 {
		paletted.Palette = append(paletted.Palette, color.NRGBA{byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())})
	}
	for _, pix := range [][]byte{nrgba.Pix, nrgba64.Pix, grey16.Pix, cmyk.Pix, paletted.Pix} {
		noise(random, pix)
	}
	for y := range 40 {
		for x := range 50 { // these two have samples that are multiplied with the opacity
			rgba.Set(x, y, nrgba.At(x, y))
			rgba64.Set(x, y, nrgba64.At(x, y))
		}
	}
	r, g, b := make([]byte, 50), make([]byte, 50), make([]byte, 50)
	for _, img := range []image.Image{rgba, rgba64, nrgba, nrgba64, grey16, cmyk, paletted} {
		read := rowReader(img)
		for y := range 40 {
			read(y, r, g, b)
			for x := range 50 {
				red, green, blue, alpha := img.At(x, y).RGBA()
				for c, want := range []uint32{red, green, blue} {
					got := float64([][]byte{r, g, b}[c][x])
					if want := float64(want+0xffff-alpha) / 257; math.Abs(got-want) > 2 {
						t.Fatalf("%T: channel %d is %v at %d, %d; want %.2f", img, c, got, x, y, want)
					}
				}
			}
		}
	}
}

// Grey, white and every colour stay what they are, however often they are averaged.
func TestScalingKeepsColours(t *testing.T) {
	t.Parallel()
	for value := range 256 {
		img := image.NewGray(image.Rect(0, 0, 1000, 77))
		for i := range img.Pix {
			img.Pix[i] = byte(value)
		}
		for _, got := range reduced(img, true, false, 333, 25).scaled(10, 3).planes[0] {
			if got != byte(value) {
				t.Fatalf("%d became %d", value, got)
			}
		}
	}
}
