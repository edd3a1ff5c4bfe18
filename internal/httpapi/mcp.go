package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"animalstore/client"
	"animalstore/internal/shop"
)

const (
	mcpPath = "/mcp"
	// maxToolCalls is how many messages of assistants a node processes at the same time, and maxKeyToolCalls is
	// the maximum per API key. Each may hold a page of a list several times, encoded and decoded.
	maxToolCalls    = 16
	maxKeyToolCalls = 4
	// toolTimeout is how long a message may take, with all requests that its tool sends to the API.
	toolTimeout = 30 * time.Second
)

// postMCP passes a message of an assistant to the Model Context Protocol server.
func (a *API) postMCP(x *exchange) error {
	if x.r.Header.Get("Origin") != "" {
		if _, allowed := a.allowedOrigin(x); !allowed {
			return x.refuseOrigin()
		}
	}
	release, err := a.toolCalls.Acquire(x.principal)
	if err != nil {
		return err
	}
	defer release()
	if err := a.checkMessage(x); err != nil {
		return err
	}
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
	if err := a.mcp.Serve(response, r, secret, scopesOf(x.principal)); err != nil {
		return err
	}
	return a.sendMCP(x, response)
}

// refuseOrigin refuses a request that a page of another site sent from a browser. Without this, a page could
// reach a service that only the visitor's machine can reach, by pointing its own name to that service's address.
// The protocol demands this status, which is not one of the API, so the body is an error of the protocol.
func (x *exchange) refuseOrigin() error {
	x.sendJSON(http.StatusForbidden, []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,`+
		`"message":"Pages of this origin may not use this service; name it with --cors-origin."}}`))
	return nil
}

// checkMessage refuses a body that is not one JSON object, by the same strict rules as for all other bodies. In
// particular, it refuses a batch of messages, which would let one request cause any amount of work. It also refuses
// a call to a tool that the key may not use.
func (a *API) checkMessage(x *exchange) error {
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
		return nil // the protocol server explains it better
	}
	member, _ := call.member("name")
	name, _ := asString(member)
	scope := shop.Scope(a.mcp.ScopeOf(name))
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

// sendMCP sends the response of the protocol server. The server reports malformed requests as plain text, which
// becomes an error like all others.
func (a *API) sendMCP(x *exchange, response *bufferedResponse) error {
	switch contentType := response.header["Content-Type"]; {
	case response.status == 0:
		return shop.UnavailableError(x.r.Context().Err())
	case response.status >= 500:
		return shop.UnavailableError(nil)
	case response.status >= 400 && !strings.HasPrefix(response.header.Get("Content-Type"), contentTypeJSON[0]):
		reason := a.accessLog.Printable(strings.TrimSpace(response.body.String()))
		return shop.Errorf(shop.InvalidParameter, "The request is not valid for the Model Context Protocol: %s.", strings.TrimSuffix(reason, "."))
	case response.body.Len() == 0:
		x.w.WriteHeader(response.status)
	default:
		x.w.Header()["Cache-Control"] = noStore
		x.send(response.status, contentType, response.body.Bytes())
	}
	return nil
}

// bufferedResponse is an http.ResponseWriter that keeps the response in memory. Answers are short.
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
