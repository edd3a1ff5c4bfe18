package staff

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

	"animalstore/internal/shop"
)

// maxFormID is the maximum length of the id of a form.
const maxFormID = 64

// once performs a write only once, however often the browser sends the form, and returns its result. A browser may send
// a form again without asking if the connection breaks before the response has arrived. Without once, the second
// attempt would be refused, and the page would blame somebody else for the user's own change.
func once[T any](x *exchange, write func(shop.Caller) (T, error)) (T, error) {
	return onceKeeping(x, "", func(result T) T { return result }, write)
}

// onceOnly is like once, but for a write that returns only an error.
func onceOnly(x *exchange, write func(shop.Caller) error) error {
	_, err := once(x, func(by shop.Caller) (struct{}, error) { return struct{}{}, write(by) })
	return err
}

// onceKeeping is like once, but for one of several writes of a form, which is named by the parameter part. It stores and
// returns what keep makes of the result, which must not contain secrets.
func onceKeeping[R, K any](x *exchange, part string, keep func(R) K, write func(shop.Caller) (R, error)) (kept K, err error) {
	by := x.caller()
	if by.Request = x.formRequest(part); by.Request != nil {
		by.Request.Response = func(result any) shop.StoredResponse {
			body, err := json.Marshal(keep(result.(R)))
			if err != nil {
				panic(err) // cannot happen, because results can always be encoded
			}
			return shop.StoredResponse{Status: http.StatusOK, Body: body}
		}
	}
	result, err := write(by)
	if err == nil {
		return keep(result), nil
	}
	if by.Request == nil || shop.AsError(err).Code == shop.Unavailable {
		return kept, err
	}
	replay, replayed := errors.AsType[*shop.ReplayError](err)
	if !replayed { // the write may not have been reached, because the form has become invalid since the first attempt
		stored, found, findErr := x.Service.FindStoredResponse(x.r.Context(), by.Request)
		if findErr != nil || !found {
			return kept, err
		}
		replay = &shop.ReplayError{StoredResponse: stored}
	}
	return kept, json.Unmarshal(replay.Body, &kept)
}

// formRequest identifies the form that the browser has sent. It returns nil if the form has no id. With scripts, each
// press of a button has an id of its own, in a header or in the field "once". Without scripts, the field contains the id
// of the page, so the form counts as the same only if its other fields are the same as well.
func (x *exchange) formRequest(part string) *shop.IdempotentRequest {
	id := x.formID()
	if id == "" {
		return nil
	}
	return x.request(id, part)
}

// formHeader is the header in which scripts send the id of a form.
const formHeader = "Idempotency-Key"

// formID returns the id of the form, or "" if it has none.
func (x *exchange) formID() string {
	if id := x.r.Header.Get(formHeader); id != "" || !x.r.PostForm.Has("once") {
		return id[:min(len(id), maxFormID)]
	}
	sum := sha256.Sum256([]byte(x.r.URL.Path + "?" + x.r.PostForm.Encode()))
	return hex.EncodeToString(sum[:])
}

func (x *exchange) request(id, part string) *shop.IdempotentRequest {
	id = id[:min(len(id), maxFormID)]
	return &shop.IdempotentRequest{Principal: x.principal.ID(), Key: "staff-" + id + "-" + part, Fingerprint: sha256.Sum256([]byte(id))}
}

// saved reports whether the form with the given id was saved. The page asks if the response to the form was lost.
func (p *Pages) saved(x *exchange) error {
	_, saved, err := p.Service.FindStoredResponse(x.r.Context(), x.request(x.r.URL.Query().Get("form"), ""))
	if err != nil {
		return err
	}
	text := "unknown"
	if saved {
		text = "saved"
	}
	return x.send(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}
