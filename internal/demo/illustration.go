package demo

import (
	"bytes"
	"image/jpeg"
	"sync"

	"animalstore/internal/shop"
)

// coat is the colours of an animal, and one for what is behind it.
type coat struct{ base, dark, light, behind rgb }

const (
	ink   rgb = 0x2f2a33
	white rgb = 0xffffff
	pink  rgb = 0xf2a3a8
	water rgb = 0x9fd3df
)

// The colours behind the animals.
const (
	sandy  rgb = 0xf7d9a8
	mint   rgb = 0xc9e3d4
	sky    rgb = 0xcfdcf2
	rose   rgb = 0xf3cfc6
	lilac  rgb = 0xe3d5ee
	meadow rgb = 0xd8e8b8
)

// coats lists the colours that animals can have, by what profiles call them.
var coats = map[string]coat{
	"black":            {0x4a4650, 0x322f38, 0xa9a4b0, rose},
	"black and white":  {0x55565e, 0x37383f, 0xf0eeea, rose},
	"blue and white":   {0x58a6e0, 0x2f73b5, 0xf2f6fa, sandy},
	"blue and yellow":  {0x4f7fd0, 0x2d56a0, 0xf8e27a, sandy},
	"brown and white":  {0xc98a4b, 0x8a552b, 0xfbf1e2, sky},
	"chocolate":        {0x6b4a3a, 0x4a3127, 0xd9b48f, mint},
	"cream and brown":  {0xe6d6ba, 0x6e5240, 0xf9f3e7, lilac},
	"fawn":             {0xcfa981, 0x8f6a4c, 0xf5e6d4, mint},
	"golden":           {0xe6c07e, 0xc4934d, 0xfaeed5, sky},
	"green and red":    {0x6dbb4f, 0x3f8f3c, 0xee7a5c, sandy},
	"green and yellow": {0x6dbb4f, 0x3f8f3c, 0xf7e463, rose},
	"grey":             {0x8f959f, 0x666c77, 0xe8ebef, sandy},
	"olive":            {0x8fa65a, 0x5f6f35, 0xc9a45a, lilac},
	"orange":           {0xf08a3c, 0xd2641f, 0xfff0dc, mint},
	"orange tabby":     {0xe39a4e, 0xbd7430, 0xfbe8cd, mint},
	"red and orange":   {0xd9515f, 0xa8323f, 0xf6b26b, meadow},
	"red and white":    {0xd98445, 0xb3622a, 0xfdf3e6, meadow},
	"sand":             {0xc9ab6c, 0x8a6f3e, 0xead9a8, sky},
	"white":            {0xf4efe8, 0xcfc3b4, 0xffffff, lilac},
	"white and brown":  {0xf1ebe0, 0x9c6b43, 0xffffff, meadow},
	"white and red":    {0xf7f1ea, 0xd9515f, 0xffffff, sky},
	"yellow":           {0xf6cf3f, 0xd99f1f, 0xfff3b8, sky},
}

// drawings lists how animals are drawn.
var drawings = map[string]func(canvas, coat){
	"dog":                      drawDog,
	"dog with pricked ears":    drawPrickEaredDog,
	"cat":                      drawCat,
	"rabbit":                   drawRabbit,
	"rabbit with hanging ears": drawLopEaredRabbit,
	"parrot":                   drawParrot,
	"songbird":                 drawBird,
	"cockatiel":                drawCockatiel,
	"lizard":                   drawLizard,
	"snake":                    drawSnake,
	"tortoise":                 drawTortoise,
	"striped fish":             drawStripedFish,
	"fish":                     drawFish,
	"mouse":                    drawMouse,
	"ferret":                   drawFerret,
	"guinea pig":               drawGuineaPig,
	"hamster":                  drawHamster,
}

// The widths of the illustrations in pixels. Their heights are three quarters of that.
const (
	smallWidth = 320
	largeWidth = 480
)

// illustration is what a photo of the demo shows: a drawing in the colours of a coat, as a whole or from near.
type illustration struct {
	drawing, color string
	near           bool
}

// illustrations draws everything that a photo of the demo can show, once. It is called before the transaction that fills the
// store, because other nodes wait for that.
var illustrations = sync.OnceValue(func() map[illustration]shop.NewPhoto {
	drawn := map[illustration]shop.NewPhoto{}
	for _, category := range categories {
		for _, breed := range category.breeds {
			for _, color := range breed.colors {
				for _, near := range []bool{false, true} {
					i := illustration{breed.drawing, color, near}
					if _, again := drawn[i]; !again && (category.portraits || !near) {
						drawn[i] = i.photo()
					}
				}
			}
		}
	}
	return drawn
})

// photo draws the illustration. The same illustration always has the same files, of a few kilobytes each.
func (i illustration) photo() shop.NewPhoto {
	small, large := i.file(smallWidth), i.file(largeWidth)
	return shop.NewPhoto{
		Files: shop.PhotoFiles{shop.SmallPhoto: small, shop.MediumPhoto: large, shop.LargePhoto: large},
		Width: largeWidth, Height: largeWidth * 3 / 4,
	}
}

// file draws the illustration with the given width and returns it as a JPEG file.
func (i illustration) file(width int) []byte {
	coat := coats[i.color]
	c := newCanvas(width, coat.behind)
	if i.near {
		c = c.near(point{56, 35}, 1.55)
	}
	c.circle(50, 38, 34, coat.behind.mixed(white, 0.45))
	drawings[i.drawing](c, coat)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, c.RGBA, &jpeg.Options{Quality: 75}); err != nil {
		panic(err) // a buffer accepts everything, and the size is fine
	}
	return b.Bytes()
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
