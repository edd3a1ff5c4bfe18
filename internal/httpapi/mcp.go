package httpapi

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"animalstore/client"
	"animalstore/internal/admission"
	"animalstore/internal/mcp"
	"animalstore/internal/shop"
)

const (
	mcpPath = "/mcp"
	// toolTimeout is how long a message may take, including all requests that its tool sends to the API.
	toolTimeout = 30 * time.Second
)

// postMCP passes a message of an assistant to the Model Context Protocol server.
func (a *API) postMCP(x *exchange) error {
	if !a.isTrustedOrigin(x) {
		return x.refuseOrigin()
	}
	handler, err := a.mcp()
	if err != nil {
		return err
	}
	if err := checkMessage(x, handler); err != nil {
		return err
	}
	slot, err := x.acquire(admission.ToolCalls)
	if err != nil {
		return err
	}
	defer slot.Release()
	ctx, cancel := context.WithTimeout(x.r.Context(), toolTimeout)
	defer cancel()
	r := x.r.Clone(ctx)
	r = r.WithContext(withOuterRequest(ctx, r))
	r.Header.Set("Content-Type", contentTypeJSON[0])
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(x.body)), int64(len(x.body))
	secret, err := bearerToken(r.Header.Values("Authorization"))
	if err != nil {
		return err
	}
	response := &bufferedResponse{header: http.Header{}}
	if err := handler.Serve(response, r, secret, scopesOf(x.principal)); err != nil {
		return err
	}
	return a.sendMCP(x, response)
}

// isTrustedOrigin reports whether a request comes from a program, from a page of a configured origin, or from a page of
// this service. Without this check, any site could use a service that only the visitor's machine can reach: the site
// would point its own name to the address of that service (DNS rebinding). An origin that equals the Host header is
// therefore trusted only if its host is localhost or an IP address, because a site cannot point these to another
// address.
func (a *API) isTrustedOrigin(x *exchange) bool {
	origin := x.r.Header.Get("Origin")
	if _, allowed := a.allowedOrigin(x); allowed || origin == "" {
		return true
	}
	page, err := url.Parse(origin)
	if err != nil {
		return false
	}
	if public, err := url.Parse(a.PublicURL); err == nil && public.Host != "" && page.Scheme == public.Scheme && page.Host == public.Host {
		return true
	}
	isAddress := page.Hostname() == "localhost" || net.ParseIP(page.Hostname()) != nil
	return isAddress && page.Host == x.r.Host
}

// refuseOrigin refuses a request from a page of another site. The protocol requires the status 403. No error code of
// the API fits this status, so the body is an error of the protocol instead.
func (x *exchange) refuseOrigin() error {
	x.sendJSON(http.StatusForbidden, []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,`+
		`"message":"Pages of this origin may not use this service; name it with --cors-origin."}}`))
	return nil
}

// checkMessage refuses a body that is not one JSON object, by the same strict rules as for all other bodies. In
// particular, it refuses a batch of messages, which would let one request cause any amount of work. It also refuses
// a call to a tool that the key may not use.
func checkMessage(x *exchange, handler *mcp.Handler) error {
	message, err := parseObject(x.body)
	if err != nil {
		return err
	}
	method, _ := message.member("method")
	params, _ := message.member("params")
	if text, _ := asString(method); text != "tools/call" {
		return nil
	}
	call, err := parseObject(params)
	if err != nil {
		return nil // the protocol server explains this error better
	}
	member, _ := call.member("name")
	name, _ := asString(member)
	scope := shop.Scope(handler.ScopeOf(name))
	if scope != "" && !x.principal.HasScope(scope) {
		x.scope = scope
		return shop.Errorf(shop.InsufficientScope, "This API key may not do that; use one with the scope %s.", scope)
	}
	return nil
}

// scopesOf returns the scopes of a principal as the client names them.
func scopesOf(p shop.Principal) (scopes []client.Scope) {
	for _, scope := range shop.Scopes() {
		if p.HasScope(scope) {
			scopes = append(scopes, client.Scope(scope))
		}
	}
	return scopes
}

// sendMCP sends the response of the protocol server. It turns the plain text with which that server reports
// malformed requests into an error of the API.
func (a *API) sendMCP(x *exchange, response *bufferedResponse) error {
	switch contentType := response.header["Content-Type"]; {
	case response.status == 0:
		return shop.UnavailableError(x.r.Context().Err())
	case response.status >= 500:
		return shop.UnavailableError(nil)
	case response.status >= 400 && !strings.HasPrefix(response.header.Get("Content-Type"), contentTypeJSON[0]):
		reason := a.accessLog.Printable(strings.ReplaceAll(strings.TrimSpace(response.body.String()), `"`, "'"))
		return shop.Errorf(shop.InvalidParameter, "The request is not valid for the Model Context Protocol: %s.", strings.TrimSuffix(reason, "."))
	case response.body.Len() == 0:
		x.w.WriteHeader(response.status)
	default:
		x.w.Header()["Cache-Control"] = noStore
		x.send(response.status, contentType, response.body.Bytes())
	}
	return nil
}

// bufferedResponse is an http.ResponseWriter that keeps a short response in memory.
type bufferedResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *bufferedResponse) Header() http.Header { return b.header }

func (b *bufferedResponse) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

func (b *bufferedResponse) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}
