package demo

import (
	"image"
	"image/color"
	"image/draw"
	"math"
)

// The size of the illustrations in pixels. Their coordinates are 100 units wide and 75 high.
const (
	illustrationWidth  = 400
	illustrationHeight = 300
	pixelsPerUnit      = illustrationWidth / 100.0
)

// rgb is a colour such as 0xff8800.
type rgb uint32

// mixed returns a colour between this one and another. A share of 0 is this one.
func (c rgb) mixed(other rgb, share float64) (mixed rgb) {
	for shift := 0; shift < 24; shift += 8 {
		a, b := float64(c>>shift&0xff), float64(other>>shift&0xff)
		mixed |= rgb(math.Round(a+(b-a)*share)) << shift
	}
	return mixed
}

func (c rgb) rgba() color.RGBA {
	return color.RGBA{R: byte(c >> 16), G: byte(c >> 8), B: byte(c), A: 0xff}
}

// canvas is an image to draw on.
type canvas struct{ *image.RGBA }

func newCanvas(background rgb) canvas {
	c := canvas{image.NewRGBA(image.Rect(0, 0, illustrationWidth, illustrationHeight))}
	draw.Draw(c, c.Rect, image.NewUniform(background.rgba()), image.Point{}, draw.Src)
	return c
}

// fill fills a convex shape, with smooth edges: a pixel at the edge gets as much of the colour as the shape covers.
func (c canvas) fill(left, top, right, bottom float64, colour rgb, inside func(x, y float64) bool) {
	at := func(px, py float64) bool { return inside(px/pixelsPerUnit, py/pixelsPerUnit) }
	for py := max(0, int(top*pixelsPerUnit)); py < min(illustrationHeight, int(bottom*pixelsPerUnit)+1); py++ {
		for px := max(0, int(left*pixelsPerUnit)); px < min(illustrationWidth, int(right*pixelsPerUnit)+1); px++ {
			x, y := float64(px), float64(py)
			switch corners := count(at(x, y), at(x+1, y), at(x, y+1), at(x+1, y+1)); {
			case corners == 4:
				c.SetRGBA(px, py, colour.rgba())
			case corners > 0 || at(x+0.5, y+0.5):
				old := c.RGBAAt(px, py)
				under := rgb(old.R)<<16 | rgb(old.G)<<8 | rgb(old.B)
				c.SetRGBA(px, py, under.mixed(colour, coverage(at, x, y)).rgba())
			}
		}
	}
}

// coverage returns how much of a pixel is inside a shape, judging by 16 samples.
func coverage(at func(px, py float64) bool, x, y float64) float64 {
	const samples = 4 // in each direction
	covered := 0
	for i := range samples * samples {
		covered += count(at(x+(float64(i%samples)+0.5)/samples, y+(float64(i/samples)+0.5)/samples))
	}
	return float64(covered) / (samples * samples)
}

// count returns how many of the values are true.
func count(values ...bool) (n int) {
	for _, value := range values {
		if value {
			n++
		}
	}
	return n
}

// ellipse fills an ellipse that is turned clockwise.
func (c canvas) ellipse(x, y, radiusX, radiusY, degrees float64, colour rgb) {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	reachX, reachY := math.Hypot(radiusX*cos, radiusY*sin), math.Hypot(radiusX*sin, radiusY*cos)
	c.fill(x-reachX, y-reachY, x+reachX, y+reachY, colour, func(px, py float64) bool {
		dx, dy := px-x, py-y
		u, v := (dx*cos+dy*sin)/radiusX, (dy*cos-dx*sin)/radiusY
		return u*u+v*v <= 1
	})
}

// circle fills a circle.
func (c canvas) circle(x, y, radius float64, colour rgb) { c.ellipse(x, y, radius, radius, 0, colour) }

// point is a corner of a polygon.
type point struct{ x, y float64 }

// polygon fills a convex polygon, whose corners are given clockwise.
func (c canvas) polygon(colour rgb, corners ...point) {
	left, top, right, bottom := corners[0].x, corners[0].y, corners[0].x, corners[0].y
	for _, p := range corners {
		left, top, right, bottom = min(left, p.x), min(top, p.y), max(right, p.x), max(bottom, p.y)
	}
	c.fill(left, top, right, bottom, colour, func(x, y float64) bool {
		for i, a := range corners {
			b := corners[(i+1)%len(corners)]
			if (b.x-a.x)*(y-a.y)-(b.y-a.y)*(x-a.x) < 0 {
				return false
			}
		}
		return true
	})
}

// line draws a straight line with round ends.
func (c canvas) line(from, to point, width float64, colour rgb) {
	length := math.Hypot(to.x-from.x, to.y-from.y)
	half := width / 2
	c.fill(min(from.x, to.x)-half, min(from.y, to.y)-half, max(from.x, to.x)+half, max(from.y, to.y)+half, colour, func(x, y float64) bool {
		along := ((x-from.x)*(to.x-from.x) + (y-from.y)*(to.y-from.y)) / length
		along = min(max(along, 0), length)
		return math.Hypot(x-from.x-along*(to.x-from.x)/length, y-from.y-along*(to.y-from.y)/length) <= half
	})
}

// arc draws the lower part of a circle, from one angle to another. 90 degrees is straight below the centre.
func (c canvas) arc(x, y, radius, from, to, width float64, colour rgb) {
	at := func(degrees float64) point {
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		return point{x + radius*cos, y + radius*sin}
	}
	const steps = 12
	for i := range steps {
		step := (to - from) / steps
		c.line(at(from+float64(i)*step), at(from+float64(i+1)*step), width, colour)
	}
}
