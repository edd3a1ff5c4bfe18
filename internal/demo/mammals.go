package demo

import "slices"

func drawDog(c canvas, coat coat) {
	drawDogBody(c, coat)
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(30.5), 35, 6.8, 15, side*14, coat.dark)
	})
	drawDogFace(c, coat)
}

func drawPrickEaredDog(c canvas, coat coat) {
	drawDogBody(c, coat)
	drawPrickedEars(c, 2, coat.dark, pink.mixed(coat.light, 0.4))
	c.ellipse(50, 35, 19, 18, 0, coat.base)
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(39), 44.5, 8, 6.5, side*35, coat.light) // cheeks
		c.ellipse(x(41.5), 26.5, 2.4, 1.4, side*-20, coat.light)
	})
	drawDogFace(c, coat)
}

// drawPrickedEars draws the pointed ears of dogs and cats, moved inwards.
func drawPrickedEars(c canvas, inwards float64, outer, inner rgb) {
	pair(func(x func(float64) float64, side float64) {
		ear := func(colour rgb, corners ...point) {
			for i := range corners {
				corners[i].x += side * inwards
			}
			if side < 0 { // mirrored, they are counterclockwise
				slices.Reverse(corners)
			}
			c.polygon(colour, corners...)
		}
		ear(outer, point{x(31), 34}, point{x(32), 9}, point{x(49), 23})
		ear(inner, point{x(34.5), 29}, point{x(34.6), 15.5}, point{x(44), 23.5})
	})
}

func drawDogBody(c canvas, coat coat) {
	c.ellipse(50, 78, 23, 27, 0, coat.base)
	c.ellipse(50, 80, 12, 22, 0, coat.light)
	c.collar(58, 29, 0xc8463f)
	c.ellipse(50, 35, 19, 20, 0, coat.base)
}

func drawDogFace(c canvas, coat coat) {
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
	c.curve(point{60, 76}, point{92, 78}, point{77, 48}, 6, 5, coat.dark)
	c.ellipse(50, 78, 20, 26, 0, coat.base)
	c.ellipse(50, 80, 10, 22, 0, coat.light)
	c.collar(57, 22, 0x3f7fb8)
	drawPrickedEars(c, 0, coat.base, pink)
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
	drawRabbitBelowEars(c, coat)
}

func drawLopEaredRabbit(c canvas, coat coat) {
	drawRabbitBelowEars(c, coat)
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(35), 31.5, 9, 5.5, side*-35, coat.dark)
		c.ellipse(x(30.5), 44, 5.2, 14, side*6, coat.dark)
		c.ellipse(x(30.5), 46, 2.6, 10, side*6, pink.mixed(coat.dark, 0.25))
	})
}

func drawRabbitBelowEars(c canvas, coat coat) {
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

// drawRodent draws the body and the face of a small animal with round ears, which are as large as the radius says.
func drawRodent(c canvas, coat coat, ear float64) {
	pair(func(x func(float64) float64, _ float64) {
		c.circle(x(34), 30-ear/4, ear, coat.dark)
		c.circle(x(34.3), 30.4-ear/4, ear*0.66, pink)
	})
	c.ellipse(50, 66, 22, 17, 0, coat.base)
	c.ellipse(50, 70, 13, 12, 0, coat.light)
	c.ellipse(50, 43, 21, 17.5, 0, coat.base)
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(43), 49.5, 8.5, 6.5, side*-8, coat.light)
		c.eye(x(40.5), 40, 3)
		c.ellipse(x(36), 48.5, 2.8, 1.8, 0, pink.mixed(coat.base, 0.4))
		c.ellipse(x(44), 63, 2.6, 3.6, side*-28, pink)
		c.ellipse(x(40), 73.6, 5.2, 2.8, 0, pink)
		for i := range 3 {
			y := 48 + 1.8*float64(i)
			c.line(point{x(39), y}, point{x(27), y - 2 + 2.2*float64(i)}, 0.4, coat.dark.mixed(ink, 0.4))
		}
	})
	c.mouth(50, 47, 5)
	c.ellipse(50, 45.6, 2.4, 1.7, 0, 0xdf7f88)
}

func drawMouse(c canvas, coat coat) {
	c.curve(point{66, 70}, point{100, 74}, point{82, 46}, 3.2, 1.2, pink.mixed(coat.dark, 0.2))
	drawRodent(c, coat, 10.5)
}

func drawHamster(c canvas, coat coat) {
	drawRodent(c, coat, 6)
	c.ellipse(50, 63.5, 3, 4, 0, 0xd9a441) // a seed
	c.line(point{50, 60.5}, point{50, 66.5}, 0.6, 0xa8752a)
}

func drawFerret(c canvas, coat coat) {
	c.curve(point{63, 74}, point{95, 76}, point{84, 50}, 6.5, 3.5, coat.dark)
	c.ellipse(50, 70, 14, 26, 0, coat.base)
	c.ellipse(50, 74, 7.5, 20, 0, coat.light)
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(36.5), 20.5, 5.4, 4.8, side*-30, coat.dark)
		c.ellipse(x(36.8), 21, 3.2, 2.8, side*-30, pink)
		c.ellipse(x(43.5), 62, 3, 6.5, side*-14, coat.dark)
	})
	c.ellipse(50, 33, 17, 16, 0, coat.base.mixed(coat.light, 0.35))
	c.ellipse(50, 41.5, 10, 10.5, 0, coat.light)
	pair(func(x func(float64) float64, side float64) {
		c.ellipse(x(42), 31.5, 6.6, 4.4, side*22, coat.dark)
		c.eye(x(42.5), 31.8, 2.4)
		for i := range 3 {
			y := 42 + 1.7*float64(i)
			c.line(point{x(43), y}, point{x(32), y - 1.5 + 2*float64(i)}, 0.4, coat.dark.mixed(ink, 0.4))
		}
	})
	c.mouth(50, 41.5, 5)
	c.ellipse(50, 40, 2.7, 1.9, 0, 0xd98088)
}
