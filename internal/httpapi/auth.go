package httpapi

import (
	"fmt"
	"strings"

	"animalstore/internal/shop"
)

// admit checks the API key and its rate limit. A client without a valid key learns nothing, not even whether a
// path exists.
func (a *API) admit(x *exchange, e *endpoint) error {
	if e != nil && e.public || e == nil && !hasPathPrefix(x.r.URL.Path, "/v1") {
		return nil
	}
	if err := a.authenticate(x); err != nil {
		return err
	}
	return a.Limits.CheckRate(x.w.Header(), x.principal)
}

// authenticate looks up the API key in the Authorization header and stores its principal in the exchange.
func (a *API) authenticate(x *exchange) error {
	secret, err := bearerToken(x.r.Header.Values("Authorization"))
	if err != nil {
		return err
	}
	x.principal, err = a.Service.Authenticate(x.r.Context(), secret)
	return err
}

// bearerToken returns the API key from the values of the Authorization header.
func bearerToken(fields []string) (string, error) {
	if len(fields) == 0 || len(fields) == 1 && fields[0] == "" {
		return "", shop.Errorf(shop.MissingAPIKey, "An API key is required; send it as Authorization: Bearer KEY.")
	}
	scheme, secret, _ := strings.Cut(fields[0], " ")
	secret = strings.TrimLeft(secret, " ")
	if len(fields) > 1 || !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", shop.Errorf(shop.InvalidAPIKey,
			"The Authorization header is malformed; send it once, as Authorization: Bearer KEY.")
	}
	return secret, nil
}

// isKeyValid reports whether the API key that the request was sent with is still valid. If the store
// cannot be read, the key is assumed to be valid.
func (a *API) isKeyValid(x *exchange) bool {
	secret, err := bearerToken(x.r.Header.Values("Authorization"))
	if err == nil {
		_, err = a.Service.Authenticate(x.r.Context(), secret)
	}
	return err == nil || shop.AsError(err).Code == shop.Unavailable
}

// authorize checks that the API key has the scope that the route requires. It also counts requests to the
// deprecated operation.
func (a *API) authorize(x *exchange) error {
	if x.route.scope == noKey || x.route.scope == anyKey {
		return nil
	}
	if !x.principal.HasScope(x.route.scope) {
		x.scope = x.route.scope
		return shop.Errorf(shop.InsufficientScope, "This API key may not do that; use one with the scope %s.", x.route.scope)
	}
	if x.route.operation == deprecatedOperation {
		a.metrics.countDeprecated(x.route.operation, x.principal)
	}
	return nil
}

// challengeFor returns the WWW-Authenticate header for a response with this error code, or "" if the response needs
// none. scope is the scope that the key lacks.
func challengeFor(code shop.Code, scope shop.Scope) string {
	const realm = `Bearer realm="animalstore"`
	switch code {
	case shop.MissingAPIKey:
		return realm
	case shop.InvalidAPIKey:
		return realm + `, error="invalid_token"`
	case shop.InsufficientScope:
		return fmt.Sprintf(`%s, error="insufficient_scope", scope="%s"`, realm, scope)
	}
	return ""
}
