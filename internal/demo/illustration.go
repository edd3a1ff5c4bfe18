package demo

import (
	"bytes"
	"image"
	"image/jpeg"
)

// coat is the colours of an animal.
type coat struct{ base, dark, light rgb }

const (
	ink   rgb = 0x2f2a33
	white rgb = 0xffffff
	pink  rgb = 0xf2a3a8
)

// backdrops lists the colours behind the animals.
var backdrops = []rgb{0xf7d9a8, 0xc9e3d4, 0xcfdcf2, 0xf3cfc6, 0xe3d5ee, 0xd8e8b8}

// illustrators lists, for each category, how its animals are drawn, and their coats.
var illustrators = map[string]struct {
	draw  func(canvas, coat)
	coats []coat
}{
	"Dogs":          {drawDog, []coat{{0xc98a4b, 0x8a552b, 0xf6e3c5}, {0x6b4a3a, 0x4a3127, 0xd9b48f}, {0xe6c07e, 0xc4934d, 0xfaeed5}, {0x55565e, 0x37383f, 0xe9e6e1}, {0xf1ebe0, 0x9c6b43, 0xffffff}}},
	"Cats":          {drawCat, []coat{{0xe39a4e, 0xbd7430, 0xfbe8cd}, {0x7d838f, 0x5a606c, 0xe2e5ea}, {0x4a4650, 0x322f38, 0xd8d3dc}, {0xd9c4a5, 0x7a5c45, 0xf7efe1}, {0xf4efe8, 0xcfc3b4, 0xffffff}}},
	"Rabbits":       {drawRabbit, []coat{{0xb98d66, 0x93694a, 0xf5e6d4}, {0x9aa0a8, 0x747a83, 0xeef0f2}, {0xf6f1ea, 0xdcd2c6, 0xffffff}, {0x6d5548, 0x503d34, 0xe8d8c8}}},
	"Birds":         {drawBird, []coat{{0x6dbb4f, 0x3f8f3c, 0xf7e463}, {0x58a6e0, 0x2f73b5, 0xf2f6fa}, {0xf6cf3f, 0xd99f1f, 0xfff3b8}, {0xe9795d, 0xb94a3a, 0xfbd7a0}, {0x9aa3ad, 0x6b747e, 0xeceff2}}},
	"Reptiles":      {drawTortoise, []coat{{0x8fa65a, 0x5f6f35, 0xc9a45a}, {0xb59a5b, 0x7c6436, 0xd9c07f}, {0x7f9c7a, 0x4f6a50, 0xa9843f}}},
	"Fish":          {drawFish, []coat{{0xf08a3c, 0xd2641f, 0xfff6ea}, {0x4f7fd0, 0x2d56a0, 0xf8e27a}, {0xd9515f, 0xa8323f, 0xfbd9c4}, {0xf2c744, 0xd39a1e, 0xffffff}}},
	"Small animals": {drawGuineaPig, []coat{{0xb8763f, 0x87522a, 0xfdf6ec}, {0x5d4a42, 0x41332d, 0xf3e6d6}, {0xe0b77c, 0xb98a4c, 0xfffaf0}, {0x8d8f96, 0x66686f, 0xf4f4f2}}},
}

// illustrate draws an animal of a category and returns it as a JPEG file of a few kilobytes. Different variants have
// different colours. It returns nil if there is no illustration for the category.
func illustrate(category string, variant int) []byte {
	img := drawAnimal(category, variant)
	if img == nil {
		return nil
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 75}); err != nil {
		panic(err) // a buffer accepts everything, and the size is fine
	}
	return b.Bytes()
}

// drawAnimal draws an animal of a category, or returns nil.
func drawAnimal(category string, variant int) image.Image {
	i, found := illustrators[category]
	if !found {
		return nil
	}
	backdrop := backdrops[variant%len(backdrops)]
	if category == "Fish" {
		backdrop = 0x9fd3df
	}
	c := newCanvas(backdrop)
	c.circle(50, 38, 34, backdrop.mixed(white, 0.45))
	i.draw(c, i.coats[variant/len(backdrops)%len(i.coats)])
	return c
}

// pair draws something twice: on the left, and mirrored on the right.
func pair(draw func(x func(float64) float64, side float64)) {
	draw(func(x float64) float64 { return x }, 1)
	draw(func(x float64) float64 { return 100 - x }, -1)
}

// eye draws a dark eye that reflects light.
func (c canvas) eye(x, y, radius float64) {
	c.circle(x, y, radius, ink)
	c.circle(x+radius*0.35, y-radius*0.4, radius*0.34, white)
}

// mouth draws a smile below a nose.
func (c canvas) mouth(x, y, width float64) {
	c.line(point{x, y}, point{x, y + width*0.45}, 0.8, ink)
	c.arc(x-width/2, y+width*0.3, width/2, 20, 130, 0.8, ink)
	c.arc(x+width/2, y+width*0.3, width/2, 50, 160, 0.8, ink)
}

// collar draws a collar with a tag. angle is half of the part of a circle that it is.
func (c canvas) collar(y, angle float64, colour rgb) {
	const radius = 24
	c.arc(50, y-radius, radius, 90-angle, 90+angle, 3.2, colour)
	c.circle(50, y+3, 2.4, 0xf3c94b)
}

func drawDog(c canvas, coat coat) {
	c.ellipse(50, 78, 23, 27, 0, coat.base)
	c.ellipse(50, 80, 12, 22, 0, coat.light)
	c.collar(58, 29, 0xc8463f)
	c.ellipse(50, 35, 19, 20, 0, coat.base)
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(30.5), 35, 6.8, 15, side*14, coat.dark)
	})
	c.ellipse(50, 31, 4.2, 14, 0, coat.light)
	c.ellipse(50, 45, 11.5, 9, 0, coat.light)
	pair(func(x func(float64) float64, _ float64) {
		c.eye(x(41.5), 32.5, 2.7)
	})
	c.ellipse(50, 51.6, 3, 4.2, 0, 0xe8727c)
	c.ellipse(50, 47.5, 5, 2.2, 0, coat.light)
	c.mouth(50, 42, 7)
	c.ellipse(50, 40.5, 4.1, 2.9, 0, ink)
	c.ellipse(48.8, 39.6, 1.2, 0.7, 0, 0x77717d)
}

func drawCat(c canvas, coat coat) {
	c.arc(66, 62, 14, -60, 80, 5.5, coat.dark)
	c.ellipse(50, 78, 20, 26, 0, coat.base)
	c.ellipse(50, 80, 10, 22, 0, coat.light)
	c.collar(57, 22, 0x3f7fb8)
	pair(func(x func(float64) float64, side float64) {
		outer := []point{{x(31), 34}, {x(32), 9}, {x(49), 23}}
		inner := []point{{x(34.5), 29}, {x(34.6), 15.5}, {x(44), 23.5}}
		if side < 0 {
			outer[1], outer[2] = outer[2], outer[1]
			inner[1], inner[2] = inner[2], inner[1]
		}
		c.polygon(coat.base, outer...)
		c.polygon(pink, inner...)
	})
	c.ellipse(50, 37, 20.5, 17.5, 0, coat.base)
	for _, x := range []float64{-5, 0, 5} {
		c.polygon(coat.dark, point{50 + x - 1.3, 20.2 + x*x/16}, point{50 + x + 1.3, 20.2 + x*x/16}, point{50 + x*0.8, 27.5})
	}
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(46), 44.5, 5.6, 5, 0, coat.light)
		c.ellipse(x(41), 35.5, 4.1, 4.3, 0, 0xb9cf5a)
		c.ellipse(x(41), 35.5, 1.7, 3.8, 0, ink)
		c.circle(x(41)+1, 33.8, 0.9, white)
		for i := range 3 {
			y := 42.5 + 2.2*float64(i)
			c.line(point{x(38), y}, point{x(25), y - 2 + 2.4*float64(i)}, 0.5, coat.dark.mixed(ink, 0.4))
		}
	})
	c.ellipse(50, 49, 3, 2.5, 0, coat.light)
	c.mouth(50, 42.5, 6)
	c.polygon(0xe0868c, point{47.4, 40.2}, point{52.6, 40.2}, point{50, 43.4})
}

func drawRabbit(c canvas, coat coat) {
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(42), 19, 5, 16, side*-9, coat.base)
		c.ellipse(x(42), 20, 2.5, 12, side*-9, pink)
	})
	c.circle(69, 66, 6, coat.light)
	c.ellipse(50, 78, 20, 24, 0, coat.base)
	c.ellipse(50, 80, 11, 19, 0, coat.light)
	c.ellipse(50, 42, 17.5, 15.5, 0, coat.base)
	pair(func(x func(float64) float64, _ float64) {
		c.ellipse(x(45.5), 48, 6.2, 5.4, 0, coat.light)
		c.eye(x(40), 39.5, 2.8)
		c.ellipse(x(37), 47, 2.8, 1.8, 0, pink.mixed(coat.base, 0.45))
	})
	c.polygon(white, point{48, 50}, point{52, 50}, point{51.6, 54}, point{48.4, 54})
	c.line(point{50, 50.5}, point{50, 54}, 0.4, 0xcfc6c0)
	c.mouth(50, 46.5, 5)
	c.ellipse(50, 45.4, 2.3, 1.6, 0, 0xdf7f88)
}

func drawBird(c canvas, coat coat) {
	c.line(point{8, 66}, point{92, 63}, 3.2, 0x8a6242)
	c.polygon(coat.dark, point{36, 50}, point{43, 58}, point{27, 74}, point{21, 70})
	c.line(point{47, 60}, point{46, 65}, 1.2, 0x9a6a3a)
	c.line(point{53, 60}, point{53, 65}, 1.2, 0x9a6a3a)
	c.ellipse(50, 44, 15, 20, 24, coat.base)
	c.ellipse(55.5, 46, 8.5, 14.5, 20, coat.light)
	c.circle(58, 25, 12.5, coat.base)
	c.ellipse(62, 27, 7.5, 8, 0, coat.light.mixed(coat.base, 0.15))
	c.ellipse(43, 45, 8.5, 16, 30, coat.dark)
	c.ellipse(42, 43, 5.5, 11.5, 30, coat.dark.mixed(coat.base, 0.45))
	c.polygon(0xf0a43a, point{69, 23}, point{78, 28}, point{68, 31})
	c.polygon(0xcf7f22, point{69, 28}, point{78, 28}, point{68, 31})
	c.eye(62, 23.5, 2.4)
	for i := range 3 {
		c.ellipse(54-3*float64(i), 12.5+float64(i), 1.3, 4.2, -20-18*float64(i), coat.dark)
	}
}

func drawTortoise(c canvas, coat coat) {
	c.ellipse(50, 66, 40, 5, 0, 0xa9c27b)
	skin := coat.base
	for _, x := range []float64{31, 63} {
		c.ellipse(x, 60, 5.5, 7.5, 0, skin)
		c.ellipse(x, 65.6, 5.5, 2, 0, skin.mixed(ink, 0.25))
	}
	c.polygon(skin, point{20, 56}, point{27, 51}, point{28, 57})
	c.ellipse(71, 48, 5, 10, 35, skin)
	c.ellipse(78, 38, 8.5, 7.5, 10, skin)
	c.eye(80.5, 36, 1.8)
	c.arc(80, 36, 5.5, 30, 95, 0.7, ink)
	c.ellipse(47, 44, 26, 17, 0, coat.dark)
	for _, p := range []point{{47, 34.5}, {33, 41}, {61, 41}, {40, 47.5}, {54, 47.5}} {
		c.ellipse(p.x, p.y, 6, 5.2, 0, coat.light)
		c.ellipse(p.x, p.y, 3.4, 2.9, 0, coat.light.mixed(coat.dark, 0.45))
	}
	c.ellipse(47, 56, 27.5, 5.2, 0, coat.light.mixed(coat.dark, 0.25))
}

func drawFish(c canvas, coat coat) {
	for i, x := range []float64{12, 17, 86, 91} {
		c.ellipse(x, 72, 2, 14+4*float64(i%2), 8-6*float64(i), 0x5fa76f)
	}
	for _, b := range []point{{82, 30}, {86, 22}, {81, 15}} {
		c.circle(b.x, b.y, 2.2-b.y/40, white)
		c.circle(b.x, b.y, 1.6-b.y/40, 0xbfe3ea)
	}
	c.ellipse(20.5, 30, 5, 11, -38, coat.dark)
	c.ellipse(20.5, 47, 5, 11, 38, coat.dark)
	c.ellipse(48, 24, 13, 7, -8, coat.dark)
	c.ellipse(45, 52, 8, 5.5, 20, coat.dark)
	c.ellipse(48, 38.5, 24, 15.5, 0, coat.base)
	c.ellipse(36.5, 38.5, 2.8, 13, 4, coat.light)
	c.ellipse(53, 38.5, 3.2, 14.6, -3, coat.light)
	c.ellipse(44.5, 42, 5.6, 3.6, 25, coat.dark)
	c.circle(63.5, 34.5, 3.9, white)
	c.eye(64.2, 34.7, 2.5)
	c.arc(70, 38, 4.5, 70, 150, 0.9, coat.dark.mixed(ink, 0.4))
}

func drawGuineaPig(c canvas, coat coat) {
	c.ellipse(50, 60, 31, 20, 0, coat.base)
	c.ellipse(66, 58, 14, 16, 0, coat.dark)
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(27.5), 38, 8, 4.8, side*-24, coat.dark)
		c.ellipse(x(28), 38.3, 5.4, 2.7, side*-24, pink)
		c.ellipse(x(38), 78, 5.5, 4, 0, pink)
	})
	c.ellipse(50, 46, 23.5, 20.5, 0, coat.base)
	c.ellipse(50, 40, 5, 14, 0, coat.light)
	c.ellipse(50, 55, 15, 10.5, 0, coat.light)
	for _, x := range []float64{-4, 0, 4} {
		c.ellipse(50+x, 25.6+x*x/20, 1.8, 4, 7*x, coat.light.mixed(coat.base, 0.25))
	}
	pair(func(x func(float64) float64, _ float64) {
		c.eye(x(36), 43, 2.9)
	})
	c.mouth(50, 53, 5.5)
	c.ellipse(50, 51.6, 3.3, 2.1, 0, 0xd98088)
}
