package photo

import (
	"image"
	"image/color"
)

// rowReader returns a function that reads a row of an image as red, green and blue, over white. It knows all kinds of images
// that decoders return and whose samples are not in planes.
func rowReader(img image.Image) func(y int, r, g, b []byte) {
	switch m := img.(type) {
	case *image.RGBA:
		return func(y int, r, g, b []byte) {
			for x, row := 0, m.Pix[y*m.Stride:]; x < len(r); x, row = x+1, row[4:] {
				white := 255 - row[3]
				r[x], g[x], b[x] = row[0]+white, row[1]+white, row[2]+white
			}
		}
	case *image.RGBA64:
		return func(y int, r, g, b []byte) {
			for x, row := 0, m.Pix[y*m.Stride:]; x < len(r); x, row = x+1, row[8:] {
				white := 255 - row[6]
				r[x], g[x], b[x] = row[0]+white, row[2]+white, row[4]+white
			}
		}
	case *image.NRGBA:
		return func(y int, r, g, b []byte) {
			for x, row := 0, m.Pix[y*m.Stride:]; x < len(r); x, row = x+1, row[4:] {
				r[x], g[x], b[x] = overWhite(row[0], row[3]), overWhite(row[1], row[3]), overWhite(row[2], row[3])
			}
		}
	case *image.NRGBA64:
		return func(y int, r, g, b []byte) {
			for x, row := 0, m.Pix[y*m.Stride:]; x < len(r); x, row = x+1, row[8:] {
				r[x], g[x], b[x] = overWhite(row[0], row[6]), overWhite(row[2], row[6]), overWhite(row[4], row[6])
			}
		}
	case *image.Gray16:
		return func(y int, r, g, b []byte) {
			for x, row := 0, m.Pix[y*m.Stride:]; x < len(r); x, row = x+1, row[2:] {
				r[x], g[x], b[x] = row[0], row[0], row[0]
			}
		}
	case *image.CMYK:
		return func(y int, r, g, b []byte) {
			for x, row := 0, m.Pix[y*m.Stride:]; x < len(r); x, row = x+1, row[4:] {
				r[x], g[x], b[x] = color.CMYKToRGB(row[0], row[1], row[2], row[3])
			}
		}
	case *image.Paletted:
		return palettedReader(m)
	case *image.NYCbCrA:
		return videoReader(m)
	}
	return nil
}

// overWhite returns a sample with this opacity on a white background.
func overWhite(sample, alpha byte) byte {
	return byte((uint32(sample)*uint32(alpha) + 255*uint32(255-alpha) + 127) / 255)
}

// palettedReader reads an image with a palette.
func palettedReader(m *image.Paletted) func(y int, r, g, b []byte) {
	var palette [256][3]byte
	for i, c := range m.Palette {
		c := color.NRGBAModel.Convert(c).(color.NRGBA)
		palette[i] = [3]byte{overWhite(c.R, c.A), overWhite(c.G, c.A), overWhite(c.B, c.A)}
	}
	return func(y int, r, g, b []byte) {
		for x, index := range m.Pix[y*m.Stride:][:len(r)] {
			c := &palette[index]
			r[x], g[x], b[x] = c[0], c[1], c[2]
		}
	}
}

// videoReader reads a WebP image with transparent pixels.
func videoReader(m *image.NYCbCrA) func(y int, r, g, b []byte) {
	return func(y int, r, g, b []byte) {
		luma, alpha := m.Y[y*m.YStride:], m.A[y*m.AStride:]
		chroma := y / 2 * m.CStride
		for x := range r {
			at := chroma + x/2
			red, green, blue := color.YCbCrToRGB(videoLuma[luma[x]], videoChroma[m.Cb[at]], videoChroma[m.Cr[at]])
			r[x], g[x], b[x] = overWhite(red, alpha[x]), overWhite(green, alpha[x]), overWhite(blue, alpha[x])
		}
	}
}
