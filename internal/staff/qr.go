package staff

import (
	"fmt"
	"html/template"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quietZone is the width of the empty border around a QR code, in modules. Scanners need it.
const quietZone = 4

// qrCode returns a QR code for a text as an SVG element. The label says what it leads to. Its background is white in dark mode, too, because
// many scanners cannot read inverted codes.
func qrCode(text, label string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", err
	}
	modules := code.Bounds().Dx()
	var path strings.Builder
	for y := range modules {
		for x := 0; x < modules; x++ {
			start := x
			for x < modules && isBlack(code.At(x, y)) {
				x++
			}
			if x > start {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", start+quietZone, y+quietZone, x-start, x-start)
			}
		}
	}
	size := modules + 2*quietZone
	return template.HTML(fmt.Sprintf(`<svg class="qr" viewBox="0 0 %[1]d %[1]d" role="img" aria-label="%[3]s" shape-rendering="crispEdges">`+
		`<rect width="%[1]d" height="%[1]d" fill="#fff"/><path d="%[2]s" fill="#000"/></svg>`, size, path.String(), template.HTMLEscapeString(label))), nil
}

func isBlack(c color.Color) bool {
	red, _, _, _ := c.RGBA()
	return red == 0
}
