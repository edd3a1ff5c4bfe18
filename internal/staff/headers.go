package staff

import (
	"net/http"

	"animalstore/internal/web"
)

// contentPolicy allows pages to load only files from this service. It forbids inline scripts and styles.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// setHeaders sets the headers of every response.
func (p *Pages) setHeaders(h http.Header, r *http.Request) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	// If the page comes from another computer without TLS, browsers ignore this header and log an error. In that case,
	// it is not sent.
	if p.secure || r.TLS != nil || isLoopback("http://"+r.Host) {
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	h.Set("Cache-Control", "no-store")
	web.RequireTLS(h, p.TLS, p.PublicURL)
}
