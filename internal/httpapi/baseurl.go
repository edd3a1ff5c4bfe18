package httpapi

import (
	"net/http"
	"net/url"

	"animalstore/internal/web"
)

// baseURL returns the URL at which the client reached the API. It ends in /v1.
func (a *API) baseURL(r *http.Request) string { return web.BaseURL(a.PublicURL, r) }

// basePathOf returns the path component of the base URL.
func basePathOf(publicURL string) string {
	if public, err := url.Parse(publicURL); err == nil && publicURL != "" {
		return public.EscapedPath()
	}
	return "/v1"
}
