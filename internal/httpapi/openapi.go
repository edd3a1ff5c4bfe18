package httpapi

import (
	"bytes"
	"sync"

	"animalstore/api"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// documents serves the OpenAPI document, which is parsed when it is first requested. The document contains the server's
// URL, which depends on the Host header unless a public URL is configured.
type documents struct {
	mu sync.Mutex
	// cached contains the documents for the first URLs that were requested, by media type and URL. Their number is
	// limited, because a client can send any Host. Documents for other URLs are sent in parts and uncompressed, so that
	// a request never needs memory for a whole document.
	cached map[documentKey]*web.StaticFile
}

type documentKey struct{ name, url string }

const maxCachedDocuments = 32

func (a *API) getOpenapiJSON(x *exchange) error {
	return a.documents.send(x, "application/json", a.servers(x), (*api.Document).JSONParts)
}

func (a *API) getOpenapiYAML(x *exchange) error {
	return a.documents.send(x, "application/yaml", a.servers(x), (*api.Document).YAMLParts)
}

func (d *documents) send(
	x *exchange, contentType string, servers []api.Server, render func(*api.Document, []api.Server) [][]byte,
) error {
	document, err := api.NewDocument()
	if err != nil {
		return err
	}
	parts := func() [][]byte { return render(document, servers) }
	if file := d.file(documentKey{contentType, servers[0].URL}, contentType, parts); file != nil {
		x.sendFile(file)
		return nil
	}
	unshared := parts()
	x.sendWithETag(revalidateAny, []string{contentType}, shop.EntityTag(unshared[1]), unshared...)
	return nil
}

// file returns the cached document. It returns nil if the document is not cached and the cache is full.
func (d *documents) file(key documentKey, contentType string, render func() [][]byte) *web.StaticFile {
	d.mu.Lock()
	defer d.mu.Unlock()
	file := d.cached[key]
	if file == nil && len(d.cached) < maxCachedDocuments {
		file = web.NewStaticFile(contentType, bytes.Join(render(), nil))
		d.cached[key] = file
	}
	return file
}

// servers returns the servers to list in the OpenAPI document: this server and, if configured, the staging
// deployment.
func (a *API) servers(x *exchange) []api.Server {
	own := api.Server{URL: a.baseURL(x.r), Description: "Production"}
	if a.Service.Environment() == shop.Staging {
		own.Description = "Staging"
	}
	if a.StagingURL == "" || a.StagingURL == own.URL {
		return []api.Server{own}
	}
	return []api.Server{own, {URL: a.StagingURL, Description: "Staging"}}
}
