package mcp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/client"
)

// Handler serves the protocol over streamable HTTP. It keeps no sessions, so any node can serve any request.
type Handler struct {
	*Server
	transport http.RoundTripper
	protocol  *sdk.StreamableHTTPHandler
	mu        sync.Mutex
	byScopes  map[string]*sdk.Server
}

// NewHandler returns a handler whose tools send their requests to the API through transport. See [New] for version
// and report.
func NewHandler(version string, transport http.RoundTripper, report func(error)) (*Handler, error) {
	server, err := New(version, report)
	if err != nil {
		return nil, err
	}
	h := &Handler{Server: server, transport: transport, byScopes: map[string]*sdk.Server{}}
	h.protocol = sdk.NewStreamableHTTPHandler(h.serverFor, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		DisableLocalhostProtection: true, // the API checks the Origin header itself, and a proxy on this machine may forward any Host header
	})
	return h, nil
}

type callerKey struct{}

// caller holds the API client and the scopes of the key that sent a request.
type caller struct {
	client *client.Client
	scopes []client.Scope
}

// Serve handles one request from a client. key is the API key of the client, and scopes are the scopes of that key.
// Serve fails if the key cannot be sent in a header.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, key string, scopes []client.Scope) error {
	// The base URL is never resolved, because transport calls the API directly. The client does not retry, because an
	// assistant decides for itself whether to try again.
	c, err := client.New("http://animalstore/v1", key, client.WithHTTPClient(&http.Client{Transport: h.transport}), client.WithRetries(0), client.WithoutCustomers())
	if err != nil {
		return err
	}
	h.protocol.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{c, scopes})))
	return nil
}

// serverFor returns the server for the scopes of a request. It reuses servers, because there are only a few different
// sets of scopes.
func (h *Handler) serverFor(r *http.Request) *sdk.Server {
	scopes := slices.Sorted(slices.Values(r.Context().Value(callerKey{}).(caller).scopes))
	name := fmt.Sprint(scopes)
	h.mu.Lock()
	defer h.mu.Unlock()
	server := h.byScopes[name]
	if server == nil {
		server = h.ForScopes(scopes, func(ctx context.Context) *client.Client { return ctx.Value(callerKey{}).(caller).client })
		h.byScopes[name] = server
	}
	return server
}
