package window

import (
	"net/http"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// previewPrefix is before the paths of a preview.
const previewPrefix = "/staff"

// Preview responds to a request for a page whose path has previewPrefix before it, as if the window were on. The caller must
// have checked that the user may see it, and handles errors.
func (p *Pages) Preview(w http.ResponseWriter, r *http.Request) error {
	recorder := web.NewRecorder(w, r)
	x := &exchange{Pages: p, w: &recorder, r: r, path: strings.TrimPrefix(r.URL.Path, previewPrefix), prefix: previewPrefix, preview: true}
	show, found := x.find()
	switch x.name {
	case "list", "pet", "static", "root":
	default:
		found = false
	}
	if !found {
		return shop.Errorf(shop.NotFound, "A preview has only the pages of the window.")
	}
	return show()
}
