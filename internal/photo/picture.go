package photo

import (
	"image"
	"image/color"
)

// picture is an image in its final colours: a plane of grey, or the planes Y, Cb and Cr of the same size.
type picture struct {
	width, height int
	planes        [][]byte
}

// scaled returns the picture in another size.
func (p *picture) scaled(width, height int) *picture {
	if width == p.width && height == p.height {
		return p
	}
	columns, rows := spans(p.width, 1, width), spans(p.height, 1, height)
	line := make([][]byte, len(p.planes))
	planes := average(len(p.planes), columns, rows, func(y int) [][]byte {
		for c, plane := range p.planes {
			line[c] = plane[y*p.width:][:p.width]
		}
		return line
	})
	return &picture{width: width, height: height, planes: planes}
}

// turned returns the picture upright. orientation says how it is turned now, as in Exif.
func (p *picture) turned(orientation int) *picture {
	if orientation == 1 {
		return p
	}
	mirrored := orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7 // after swapping: from right to left
	flipped := orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8  // after swapping: from bottom to top
	turned := &picture{width: p.width, height: p.height}
	stepX, stepY := 1, p.width // from one pixel of the result to the next, in the original
	if orientation >= 5 {
		turned.width, turned.height = p.height, p.width
		stepX, stepY = p.width, 1
	}
	start := 0
	if mirrored {
		start += (turned.width - 1) * stepX
		stepX = -stepX
	}
	if flipped {
		start += (turned.height - 1) * stepY
		stepY = -stepY
	}
	for _, plane := range p.planes {
		result := make([]byte, len(plane))
		for y := range turned.height {
			at := start + y*stepY
			line := result[y*turned.width:][:turned.width]
			for x := range line {
				line[x] = plane[at]
				at += stepX
			}
		}
		turned.planes = append(turned.planes, result)
	}
	return turned
}

// image returns the picture as the encoder takes it.
func (p *picture) image() image.Image {
	bounds := image.Rect(0, 0, p.width, p.height)
	if len(p.planes) == 1 {
		return &image.Gray{Pix: p.planes[0], Stride: p.width, Rect: bounds}
	}
	return &image.YCbCr{Y: p.planes[0], Cb: p.planes[1], Cr: p.planes[2], YStride: p.width, CStride: p.width,
		SubsampleRatio: image.YCbCrSubsampleRatio444, Rect: bounds}
}

// reduced returns a decoded image in another size. Transparent pixels become white.
func reduced(img image.Image, grey, video bool, width, height int) *picture {
	size := img.Bounds().Size()
	p := &picture{width: width, height: height}
	addPlane := func(pix []byte, stride, ratioX, ratioY int) {
		line := make([][]byte, 1)
		columns, rows := spans(size.X, ratioX, width), spans(size.Y, ratioY, height)
		p.planes = append(p.planes, average(1, columns, rows, func(y int) [][]byte {
			line[0] = pix[y*stride:]
			return line
		})...)
	}
	switch m := img.(type) {
	case *image.Gray:
		addPlane(m.Pix, m.Stride, 1, 1)
		return p
	case *image.YCbCr:
		ratioX, ratioY := subsampling(m.SubsampleRatio)
		addPlane(m.Y, m.YStride, 1, 1)
		addPlane(m.Cb, m.CStride, ratioX, ratioY)
		addPlane(m.Cr, m.CStride, ratioX, ratioY)
		if video {
			p.widenRange()
		}
		return p
	}
	read := rowReader(img)
	rgb := [][]byte{make([]byte, size.X), make([]byte, size.X), make([]byte, size.X)}
	lines := rgb
	if grey {
		lines = rgb[:1]
	}
	p.planes = average(len(lines), spans(size.X, 1, width), spans(size.Y, 1, height), func(y int) [][]byte {
		read(y, rgb[0], rgb[1], rgb[2])
		return lines
	})
	if !grey {
		r, g, b := p.planes[0], p.planes[1], p.planes[2]
		for i := range r {
			r[i], g[i], b[i] = color.RGBToYCbCr(r[i], g[i], b[i])
		}
	}
	return p
}

// subsampling returns how many pixels a sample of Cb and Cr covers, horizontally and vertically.
func subsampling(ratio image.YCbCrSubsampleRatio) (x, y int) {
	switch ratio {
	case image.YCbCrSubsampleRatio422:
		return 2, 1
	case image.YCbCrSubsampleRatio420:
		return 2, 2
	case image.YCbCrSubsampleRatio440:
		return 1, 2
	case image.YCbCrSubsampleRatio411:
		return 4, 1
	case image.YCbCrSubsampleRatio410:
		return 4, 2
	}
	return 1, 1
}

// widenRange converts a picture from the range of video, where Y is 16 to 235, to that of JPEG files.
func (p *picture) widenRange() {
	for c, plane := range p.planes {
		table := &videoChroma
		if c == 0 {
			table = &videoLuma
		}
		for i, sample := range plane {
			plane[i] = table[sample]
		}
	}
}

// videoLuma and videoChroma convert samples from the range of video.
var videoLuma, videoChroma = videoTable(16, 219, 0), videoTable(128, 224, 128)

func videoTable(zero, steps, jpegZero int) (table [256]byte) {
	for i := range table {
		value := (2*255*(i-zero) + 2*steps*jpegZero + steps) / (2 * steps) // rounded
		table[i] = byte(min(max(value, 0), 255))
	}
	return table
}
