package staff

import (
	"encoding/json"
	"net/http"

	"animalstore/internal/shop"
)

// manifest serves the web app manifest, which browsers read to install the pages as an app.
func (p *Pages) manifest(x *exchange) error {
	name := "animalstore"
	if p.Service.Environment() == shop.Staging {
		name += " (staging)"
	}
	icon := func(file, sizes, contentType, purpose string) map[string]string {
		return map[string]string{"src": p.staticURL(file), "sizes": sizes, "type": contentType, "purpose": purpose}
	}
	content, err := json.Marshal(map[string]any{
		"name": name, "short_name": name, "id": p.At("/"), "start_url": p.At("/"), "scope": p.At("/"), "display": "standalone",
		"background_color": "#f7f8f6", "theme_color": "#eff2ee",
		"icons": []any{
			icon("icon.svg", "any", "image/svg+xml", "any"),
			icon("icon-192.png", "192x192", "image/png", "any"),
			icon("icon-512.png", "512x512", "image/png", "maskable"),
		},
	})
	if err != nil {
		return err
	}
	return x.send(http.StatusOK, "application/manifest+json", content)
}
