package httpapi

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"animalstore/api"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// docs contains the pages for developers: the interactive API reference and the guides.
type docs struct {
	pages         *template.Template
	files         map[string]*web.StaticFile
	contentPolicy string
}

func newDocs(c Config) (*docs, error) {
	pages, err := api.DocsPages()
	if err != nil {
		return nil, err
	}
	contents, err := api.DocsFiles()
	if err != nil {
		return nil, err
	}
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	}
	files := map[string]*web.StaticFile{}
	for name, content := range contents {
		files[name] = web.NewStaticFile(types[path.Ext(name)], content)
	}
	return &docs{pages, files, docsContentPolicy(c.PublicURL, c.StagingURL)}, nil
}

// docsContentPolicy returns a Content-Security-Policy for the documentation pages. The pages may load
// files only from this server, and send requests only to this server and the given servers. Data URLs are
// allowed for images because Swagger UI uses them for its icons.
func docsContentPolicy(servers ...string) string {
	connect := []string{"'self'"}
	for _, server := range servers {
		if u, err := url.Parse(server); err == nil && u.Host != "" {
			connect = append(connect, u.Scheme+"://"+u.Host)
		}
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"connect-src " + strings.Join(connect, " ") + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func (a *API) getReference(x *exchange) error { return a.sendDocsPage(x, "reference.html") }

// getDocsFile serves the guides, and the scripts and style sheets that the documentation pages use.
func (a *API) getDocsFile(x *exchange) error {
	name := x.params[0]
	if name == "guides" {
		return a.sendDocsPage(x, "guides.html")
	}
	file := a.docs.files[name]
	if file == nil {
		return errNoSuchPath()
	}
	x.sendFile(file)
	return nil
}

func (a *API) sendDocsPage(x *exchange, name string) error {
	var page bytes.Buffer
	err := a.docs.pages.ExecuteTemplate(&page, name, struct {
		Base, Hold string
		Staging    bool
		Errors     []errorAdvice
	}{a.baseURL(x.r), humanDuration(a.Service.OrderHold()), a.Service.Environment() == shop.Staging, errorsByStatus()})
	if err != nil {
		return err
	}
	x.w.Header().Set("Content-Security-Policy", a.docs.contentPolicy)
	x.w.Header().Set("Referrer-Policy", "no-referrer")
	const contentType = "text/html; charset=utf-8"
	key := documentKey{name, a.baseURL(x.r)}
	if file := a.documents.file(key, contentType, func() [][]byte { return [][]byte{page.Bytes()} }); file != nil {
		x.sendFile(file)
		return nil
	}
	x.sendWithETag(revalidateAny, []string{contentType}, shop.EntityTag(page.Bytes()), page.Bytes())
	return nil
}

// humanDuration formats whole hours as in "72 hours" and any other duration in Go's format.
func humanDuration(d time.Duration) string {
	if hours := d / time.Hour; hours > 1 && d%time.Hour == 0 {
		return fmt.Sprintf("%d hours", hours)
	}
	return d.String()
}

// errorAdvice is one row in the table of errors that the guides show.
type errorAdvice struct {
	Code   shop.Code
	Status int
	Advice string
}

func errorsByStatus() []errorAdvice {
	all := []errorAdvice{}
	for _, code := range slices.Sorted(maps.Keys(advice)) {
		all = append(all, errorAdvice{code, web.Status[code], advice[code]})
	}
	slices.SortStableFunc(all, func(a, b errorAdvice) int { return cmp.Compare(a.Status, b.Status) })
	return all
}

// advice tells clients what to do about each error.
var advice = map[shop.Code]string{
	shop.InvalidJSON:          "Fix the request body: it is not a JSON object, or has a duplicate member.",
	shop.ValidationFailed:     "Fix the members that the message names.",
	shop.InvalidParameter:     "Fix the parameter or header that the message names.",
	shop.InvalidCursor:        "Follow the URLs of the Link header unchanged, or start again at the first page.",
	shop.MissingAPIKey:        "Send Authorization: Bearer KEY.",
	shop.InvalidAPIKey:        "Use a valid key: this one is wrong, revoked, expired, or of another environment.",
	shop.InsufficientScope:    "Use a key with the scope that the message names.",
	shop.NotFound:             "Check the id and the path.",
	shop.PetNotFound:          "The animal no longer exists; choose another one.",
	shop.MethodNotAllowed:     "Use one of the methods in Allow.",
	shop.InvalidTransition:    "Read the resource again: its current status does not allow this change.",
	shop.PetNotAvailable:      "The animal is no longer available; choose another one.",
	shop.PetHasOpenOrder:      "Deliver or cancel the order that holds the animal, then try again.",
	shop.PetExists:            "The animal was not removed, so there is nothing to restore.",
	shop.UnknownCategory:      "Create the category of the animal again, then restore the animal.",
	shop.CategoryInUse:        "Move or remove the animals of the category first.",
	shop.LastAdminKey:         "Create another admin key first.",
	shop.IdempotencyKeyInUse:  "The first request with this key is still running; try again shortly.",
	shop.OperationRemoved:     "Switch to the operation that the message names.",
	shop.EventsExpired:        "Read the catalogue again and continue from the newest event.",
	shop.PreconditionFailed:   "The resource has changed; read it again and decide whether to retry.",
	shop.PayloadTooLarge:      "Send a smaller body.",
	shop.UnsupportedMediaType: "Send the Content-Type that the reference names.",
	shop.IdempotencyKeyReused: "The key was used for a different request; use a new one.",
	shop.RateLimited:          "Wait for the time in Retry-After, then try again.",
	shop.Internal:             "This is a fault of the service. Report it with the X-Request-Id.",
	shop.Unavailable:          "Wait for the time in Retry-After, then try again; repeat a POST with the same Idempotency-Key.",
}
