package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"animalstore/internal/shop"
)

// replay answers a POST that was answered before, under the same idempotency key; it tells whether it did. Otherwise the
// request is set to be done once.
func (a *API) replay(x *exchange) (bool, error) {
	if x.r.Method != http.MethodPost {
		return false, nil
	}
	key, err := idempotencyKey(x.r.Header["Idempotency-Key"])
	if err != nil || key == "" {
		return false, err
	}
	x.idempotent = &shop.IdempotentRequest{Principal: x.principal.ID(), Key: key, Fingerprint: fingerprint(x)}
	answer, replayed, err := a.Service.FindStoredResponse(x.r.Context(), x.idempotent)
	if replayed {
		x.sendReplay(answer)
	}
	return replayed, err
}

func (x *exchange) sendReplay(answer shop.StoredResponse) {
	x.w.Header().Set("Idempotency-Replayed", "true")
	x.sendStored(answer)
}

// runIdempotent does what a POST asks for, once where its client says so, and answers.
func runIdempotent[T any](x *exchange, do func(context.Context) (T, error), answer func(T) shop.StoredResponse) error {
	return runAndStore(x, do, answer, answer)
}

// runIdempotentSecret is once for an answer that shows a secret. It is kept without: whoever repeats it gets it without, too.
func runIdempotentSecret[T any](x *exchange, do func(context.Context) (T, error), without func(T) T, answer func(T) shop.StoredResponse) error {
	return runAndStore(x, do, answer, func(issued T) shop.StoredResponse { return answer(without(issued)) })
}

// respondWith answers with what was made, and no more.
func respondWith[T any](status int) func(T) shop.StoredResponse {
	return func(made T) shop.StoredResponse { return shop.StoredResponse{Status: status, Body: encode(made)} }
}

func runAndStore[T any](x *exchange, do func(context.Context) (T, error), answer, keep func(T) shop.StoredResponse) error {
	ctx := x.context()
	if x.idempotent != nil {
		x.idempotent.Response = func(result any) shop.StoredResponse { return keep(result.(T)) }
		ctx = shop.WithIdempotency(ctx, x.idempotent)
	}
	value, err := do(ctx)
	if replay, ok := errors.AsType[*shop.ReplayError](err); ok { // the first one ended while this one waited
		x.sendReplay(replay.StoredResponse)
		return nil
	}
	if err != nil {
		return err
	}
	x.sendStored(answer(value))
	return nil
}

// fingerprint is what two requests have in common that are the same.
func fingerprint(x *exchange) [sha256.Size]byte {
	hash := sha256.New()
	for _, part := range []string{x.r.Method, x.r.URL.EscapedPath(), x.r.URL.RawQuery} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	fmt.Fprintf(hash, "%d:", len(x.body))
	hash.Write(x.body)
	return [sha256.Size]byte(hash.Sum(nil))
}

// maxIdempotencyKeyLength is how long an idempotency key may be.
const maxIdempotencyKeyLength = 255

// idempotencyKey reads the header, quoted as structured fields are or bare; "" is none.
func idempotencyKey(fields []string) (string, error) {
	if len(fields) == 0 {
		return "", nil
	}
	key, ok := unquote(fields[0])
	if len(fields) > 1 || !ok || len(key) < 1 || len(key) > maxIdempotencyKeyLength ||
		strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", shop.Errorf(shop.InvalidParameter, "The Idempotency-Key cannot be read; send it once, with 1 to %d printable ASCII characters.", maxIdempotencyKeyLength)
	}
	return key, nil
}

// unquote takes the quotes off a text that has them; inside, only a quote and a backslash are escaped.
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
