package demo

func drawBird(c canvas, coat coat) {
	drawBirdBody(c, coat)
	c.polygon(0xf0a43a, point{69, 23}, point{77, 27.5}, point{68, 30})
	c.polygon(0xcf7f22, point{69, 27.2}, point{77, 27.5}, point{68, 30})
}

func drawParrot(c canvas, coat coat) {
	drawBirdBody(c, coat)
	c.ellipse(70, 26, 4.4, 5.4, -20, 0x5b5560)
	c.polygon(0x5b5560, point{70, 27}, point{74.4, 25.5}, point{72, 34})
	c.ellipse(68.8, 21.8, 2.2, 1.6, 15, coat.light.mixed(coat.dark, 0.5))
	c.circle(62.5, 31, 2.6, pink.mixed(0xf08a3c, 0.4))
}

func drawCockatiel(c canvas, coat coat) {
	for i := range 3 {
		c.ellipse(55-3.4*float64(i), 10.5+2*float64(i), 1.7, 7.5, -22-17*float64(i), coat.light.mixed(0xf3d23c, 0.7))
	}
	drawParrot(c, coat)
	c.circle(61.5, 30, 3.4, 0xf08a3c)
}

// drawBirdBody draws a bird on a branch, without its beak.
func drawBirdBody(c canvas, coat coat) {
	c.line(point{8, 66}, point{92, 63}, 3.2, 0x8a6242)
	c.ellipse(84, 58.5, 5, 2.4, -35, 0x7fae5b)
	c.ellipse(15, 71, 5, 2.4, -30, 0x7fae5b)
	c.polygon(coat.dark, point{36, 50}, point{43, 58}, point{27, 74}, point{21, 70})
	c.ellipse(50, 44, 15, 20, 24, coat.base)
	c.ellipse(55.5, 46, 8.5, 14.5, 20, coat.light)
	for _, x := range []float64{47, 54} {
		c.line(point{x, 61}, point{x - 0.5, 65}, 1.4, 0x9a6a3a)
		c.line(point{x - 2.5, 64.4}, point{x + 2, 64.2}, 1.6, 0x9a6a3a)
	}
	c.circle(58, 25, 12.5, coat.base)
	c.ellipse(62, 27, 7.5, 8, 0, coat.light.mixed(coat.base, 0.15))
	c.ellipse(43, 45, 8.5, 16, 30, coat.dark)
	c.ellipse(42, 43, 5.5, 11.5, 30, coat.dark.mixed(coat.base, 0.45))
	for i := range 2 {
		c.arc(41-3*float64(i), 42+5*float64(i), 5, 20, 130, 0.8, coat.dark)
	}
	c.eye(62, 23.5, 2.4)
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

func drawStripedFish(c canvas, coat coat) {
	drawFishBody(c, coat)
	c.ellipse(36.5, 38.5, 2.8, 13, 4, coat.light)
	c.ellipse(53, 38.5, 3.2, 14.6, -3, coat.light)
	drawFishFace(c, coat)
}

func drawFish(c canvas, coat coat) {
	drawFishBody(c, coat)
	c.ellipse(47, 45.5, 17, 7.5, 0, coat.base.mixed(coat.light, 0.55))
	for row := range 3 {
		for column := range 4 - row%2 {
			c.arc(34+5.5*float64(column)+2.75*float64(row%2), 31+5*float64(row), 2.6, 10, 170, 0.6, coat.dark.mixed(coat.base, 0.3))
		}
	}
	drawFishFace(c, coat)
}

func drawFishBody(c canvas, coat coat) {
	c.polygon(water, point{0, 0}, point{100, 0}, point{100, 75}, point{0, 75})
	c.circle(50, 38, 34, water.mixed(white, 0.45))
	c.ellipse(50, 79, 60, 9, 0, 0xe9d3a2)
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
}

func drawFishFace(c canvas, coat coat) {
	c.ellipse(44.5, 42, 5.6, 3.6, 25, coat.dark)
	c.circle(63.5, 34.5, 3.9, white)
	c.eye(64.2, 34.7, 2.5)
	c.arc(70, 38, 4.5, 70, 150, 0.9, coat.dark.mixed(ink, 0.4))
}

func drawLizard(c canvas, coat coat) {
	c.ellipse(50, 67, 42, 5.5, 0, 0xb9a58c)
	c.ellipse(46, 65.5, 34, 3.6, 0, 0xcdbba2)
	c.curve(point{32, 54}, point{4, 66}, point{9, 38}, 9, 1.5, coat.base)
	far := coat.base.mixed(coat.dark, 0.5)
	c.curve(point{38, 56}, point{36, 64}, point{43, 65.5}, 5, 3.4, far)
	c.curve(point{62, 54}, point{62, 63}, point{69, 65.5}, 5, 3.4, far)
	c.ellipse(47, 51, 22, 10.5, -6, coat.base)
	c.ellipse(48, 56, 17, 5, -4, coat.light.mixed(coat.base, 0.3))
	for i := range 6 {
		c.circle(30+6.5*float64(i), 45.4-0.9*float64(i)+float64(i%2)*4.5, 1.7, coat.dark)
	}
	for _, x := range []float64{32, 57} {
		c.curve(point{x, 55}, point{x - 7, 62}, point{x + 1, 66.5}, 5.6, 3.6, coat.base)
		for toe := range 3 {
			c.line(point{x + 1, 66.5}, point{x + 2 + 2.4*float64(toe), 68.6 - 1.3*float64(toe)}, 1.5, coat.base)
		}
	}
	c.ellipse(68, 43, 9, 7, -30, coat.base)
	c.ellipse(76, 36, 11.5, 8.6, -8, coat.base)
	c.ellipse(77, 40.5, 9, 4, -8, coat.light.mixed(coat.base, 0.3))
	c.arc(77, 33, 7.5, 25, 110, 0.8, coat.dark.mixed(ink, 0.5))
	c.circle(84.6, 34.4, 0.7, ink)
	c.circle(76.5, 31.5, 4, coat.light)
	c.eye(77, 31.5, 2.7)
	c.ellipse(67.5, 50, 3, 2, 30, coat.dark)
}

func drawSnake(c canvas, coat coat) {
	c.ellipse(50, 69, 40, 5, 0, 0xb9a58c)
	c.curve(point{74, 66}, point{94, 70}, point{92, 55}, 6, 1, coat.base)
	for i := range 3 {
		y, width := 64-9*float64(i), 29-5*float64(i)
		c.ellipse(50, y+1.2, width, 8, 0, coat.dark)
		c.ellipse(50, y, width, 7.4, 0, coat.base)
		for j := range 5 {
			x := (float64(j) - 2) * width * 0.36
			c.ellipse(50+x, y+2.4-x*x/250, 3.2, 2.6, -x/2, coat.light)
			c.ellipse(50+x, y+2.4-x*x/250, 1.7, 1.3, -x/2, coat.dark)
		}
	}
	c.curve(point{44, 45}, point{30, 22}, point{54, 24}, 10, 8.5, coat.dark)
	c.curve(point{44.6, 45}, point{31, 21.4}, point{54, 23.4}, 9, 8, coat.base)
	c.line(point{69, 27}, point{76, 28.5}, 0.9, 0xd8404f)
	c.line(point{76, 28.5}, point{79, 27}, 0.7, 0xd8404f)
	c.line(point{76, 28.5}, point{78.6, 30.6}, 0.7, 0xd8404f)
	c.ellipse(60, 23.5, 11, 7.4, 12, coat.base)
	c.ellipse(61, 27.5, 8, 3, 12, coat.light)
	c.arc(62, 19, 8.5, 40, 105, 0.8, coat.dark.mixed(ink, 0.5))
	c.eye(61.5, 20.6, 2.6)
	c.circle(69, 23.6, 0.6, ink)
}
