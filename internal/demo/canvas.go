package demo

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"sort"
)

// canvas is an image to draw on. Its coordinates are 100 units wide and 75 high, whatever its size in pixels.
type canvas struct {
	*image.RGBA
	scale  float64 // pixels for each unit
	origin point   // what is in the upper left corner
}

func newCanvas(width int, background rgb) canvas {
	c := canvas{image.NewRGBA(image.Rect(0, 0, width, width*3/4)), float64(width) / 100, point{}}
	draw.Draw(c.RGBA, c.Rect, image.NewUniform(background.rgba()), image.Point{}, draw.Src)
	return c
}

// near returns the canvas for drawing larger, with the given point in the middle.
func (c canvas) near(middle point, times float64) canvas {
	c.scale *= times
	c.origin = point{middle.x - 50/times, middle.y - 37.5/times}
	return c
}

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

// fill fills a convex shape, with smooth edges: a pixel at the edge gets as much of the colour as the shape covers.
func (c canvas) fill(left, top, right, bottom float64, colour rgb, inside func(x, y float64) bool) {
	at := func(px, py float64) bool { return inside(c.origin.x+px/c.scale, c.origin.y+py/c.scale) }
	pixel := func(unit, origin float64, limit int) int { return min(max(0, int((unit-origin)*c.scale)), limit) }
	first, end := pixel(left, c.origin.x, c.Rect.Dx()), pixel(right+1/c.scale, c.origin.x, c.Rect.Dx())
	// corners returns which corners of pixels are inside. They are next to each other, because the shape is convex.
	corners := func(py int) (from, to int) {
		for from = first; from <= end && !at(float64(from), float64(py)); {
			from++
		}
		return from, from + sort.Search(end+1-from, func(i int) bool { return !at(float64(from+i), float64(py)) })
	}
	firstRow := pixel(top, c.origin.y, c.Rect.Dy())
	from, to := corners(firstRow)
	for py := firstRow; py < pixel(bottom+1/c.scale, c.origin.y, c.Rect.Dy()); py++ {
		fromAbove, toAbove := from, to
		from, to = corners(py + 1)
		whole, wholeEnd := max(from, fromAbove), min(to, toAbove)-1
		for px := max(first, min(from, fromAbove)-1); px < min(end, max(to, toAbove)); px++ {
			if px < whole || px >= wholeEnd {
				old := c.RGBAAt(px, py)
				under := rgb(old.R)<<16 | rgb(old.G)<<8 | rgb(old.B)
				c.SetRGBA(px, py, under.mixed(colour, coverage(at, float64(px), float64(py))).rgba())
			} else {
				c.SetRGBA(px, py, colour.rgba())
			}
		}
	}
}

// coverage returns how much of a pixel is inside a shape, judging by 16 samples.
func coverage(at func(px, py float64) bool, x, y float64) float64 {
	const samples = 4 // in each direction
	covered := 0.0
	for i := range samples * samples {
		if at(x+(float64(i%samples)+0.5)/samples, y+(float64(i/samples)+0.5)/samples) {
			covered++
		}
	}
	return covered / (samples * samples)
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
		dx, dy := x-from.x-along*(to.x-from.x)/length, y-from.y-along*(to.y-from.y)/length
		return dx*dx+dy*dy <= half*half
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

// curve draws a bent line, which begins with one width and ends with another. It is bent towards the second point.
func (c canvas) curve(from, bend, to point, width, endWidth float64, colour rgb) {
	const steps = 24
	at := func(share float64) point {
		a, b, d := (1-share)*(1-share), 2*share*(1-share), share*share
		return point{a*from.x + b*bend.x + d*to.x, a*from.y + b*bend.y + d*to.y}
	}
	for i := range steps {
		share := float64(i) / steps
		c.line(at(share), at(share+1.0/steps), width+(endWidth-width)*share, colour)
	}
}
