package httpapi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"animalstore/internal/shop"
)

// readIdempotencyKey prepares a POST with an Idempotency-Key for callerStoring. It fails with invalid_parameter if the
// key is invalid.
func (x *exchange) readIdempotencyKey() error {
	if x.r.Method != http.MethodPost {
		return nil
	}
	key, err := idempotencyKey(x.r.Header.Values("Idempotency-Key"))
	if err != nil || key == "" {
		return err
	}
	x.idempotent = &shop.IdempotentRequest{Principal: x.principal.ID(), Key: key, Fingerprint: fingerprint(x)}
	return nil
}

// replayInsteadOf is called when a request has failed. If its write has found a stored response, replayInsteadOf sends
// this response. But the write may not have been reached, because the request has become invalid since its first
// attempt. If an earlier POST with the same Idempotency-Key succeeded, replayInsteadOf therefore also sends the stored
// response. If the key was used for a different request, it returns an error that says so. In all other cases, it
// returns failure. It does not read a store that is already known to be unavailable, because the client would wait twice
// as long for its error.
func (a *API) replayInsteadOf(failure error, x *exchange) error {
	if replay, ok := errors.AsType[*shop.ReplayError](failure); ok {
		x.sendReplay(replay.StoredResponse)
		return nil
	}
	if x.idempotent == nil || x.w.Started() || shop.AsError(failure).Code == shop.Unavailable {
		return failure
	}
	stored, replayed, err := a.Service.FindStoredResponse(x.r.Context(), x.idempotent)
	if replayed {
		x.sendReplay(stored)
		return nil
	}
	if err != nil && shop.AsError(err).Code == shop.IdempotencyKeyReused {
		return err
	}
	return failure
}

func (x *exchange) sendReplay(stored shop.StoredResponse) {
	x.w.Header().Set("Idempotency-Replayed", "true")
	x.sendStored(stored)
}

// callerStoring returns the caller of a POST. If the request has an Idempotency-Key, the service stores the response that
// respond builds from the result, in the same transaction as the write. A retry then gets the stored response and does
// not execute the POST again. The stored response must not contain secrets.
func callerStoring[T any](x *exchange, respond func(T) shop.StoredResponse) shop.Caller {
	if x.idempotent != nil {
		x.idempotent.Response = func(result any) shop.StoredResponse { return respond(result.(T)) }
	}
	return x.caller()
}

// respondWith returns a function that builds a response from the given status and the encoded result.
func respondWith[T any](status int) func(T) shop.StoredResponse {
	return func(result T) shop.StoredResponse { return shop.StoredResponse{Status: status, Body: encode(result)} }
}

// fingerprint returns a hash of the request. It is used to detect that an Idempotency-Key is reused for a
// different request.
func fingerprint(x *exchange) [sha256.Size]byte {
	hash := sha256.New()
	for _, part := range []string{x.r.Method, x.r.URL.EscapedPath(), x.r.URL.RawQuery} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	fmt.Fprintf(hash, "%d:", len(x.body))
	hash.Write(x.body)
	return [sha256.Size]byte(hash.Sum(nil))
}

const maxIdempotencyKeyLength = 255

// idempotencyKey returns the value of the Idempotency-Key header, or "" if the header is missing. The
// value may be quoted as a structured field string.
func idempotencyKey(fields []string) (string, error) {
	if len(fields) == 0 {
		return "", nil
	}
	key, ok := unquote(fields[0])
	if len(fields) > 1 || !ok || len(key) < 1 || len(key) > maxIdempotencyKeyLength ||
		strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", shop.Errorf(shop.InvalidParameter,
			"The Idempotency-Key is invalid; send it once, with 1 to %d printable ASCII characters.", maxIdempotencyKeyLength)
	}
	return key, nil
}

// unquote removes the quotes from a structured field string (RFC 8941), in which only quotes and
// backslashes are escaped. A text without quotes is returned unchanged.
func unquote(text string) (string, bool) {
	inner, quoted := strings.CutPrefix(text, `"`)
	if !quoted {
		return text, true
	}
	var plain strings.Builder
	for i := 0; i < len(inner); i++ {
		switch b := inner[i]; {
		case b == '"':
			return plain.String(), i == len(inner)-1
		case b == '\\' && i+1 < len(inner) && (inner[i+1] == '"' || inner[i+1] == '\\'):
			i++
			plain.WriteByte(inner[i])
		case b == '\\':
			return "", false
		default:
			plain.WriteByte(b)
		}
	}
	return "", false
}
