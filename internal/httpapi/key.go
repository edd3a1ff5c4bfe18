package httpapi

import (
	"net/url"
	"time"

	"animalstore/internal/shop"
)

func (a *API) listKeys(x *exchange) error {
	q := parseQuery(x.r.URL.RawQuery)
	request := q.pageRequest()
	if q.err != nil {
		return q.err
	}
	page, err := a.Service.ListKeys(x.r.Context(), request)
	if err != nil {
		return err
	}
	setPageLinks(a, x, "/keys", url.Values{}, request, page, func(k shop.Key) int64 { return k.ID })
	x.sendJSON(200, encode(page.Items))
	return nil
}

func (a *API) createKey(x *exchange) error {
	n, err := decodeNewKey(x.body, a.Service.Now())
	if err != nil {
		return err
	}
	issued, err := a.Service.CreateKey(x.r.Context(), callerStoring(x, keyResponse(201)), n)
	if err != nil {
		return err
	}
	x.sendJSON(201, encode(issued))
	return nil
}

// keyResponse returns a function that builds the response that is stored when a key was issued. It leaves out the secret.
func keyResponse(status int) func(shop.IssuedKey) shop.StoredResponse {
	return func(issued shop.IssuedKey) shop.StoredResponse {
		return shop.StoredResponse{Status: status, Body: encode(shop.IssuedKey{Key: issued.Key})}
	}
}

func decodeNewKey(body []byte, now time.Time) (shop.NewKey, error) {
	o, err := parseObject(body)
	if err != nil {
		return shop.NewKey{}, err
	}
	n := shop.NewKey{Name: o.text("name"), Scopes: o.scopes("scopes"), ExpiresAt: o.time("expiresAt")}
	o.problems.Merge(n.Problems(now))
	return n, o.problems.Err()
}

func (a *API) getCurrentKey(x *exchange) error {
	key, err := a.Service.CurrentKey(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	x.sendJSON(200, encode(key))
	return nil
}

func (a *API) rotateKey(x *exchange) error {
	overlap, err := decodeOverlap(x.body)
	if err != nil {
		return err
	}
	id, err := x.pathID("key")
	if err != nil {
		return err
	}
	issued, err := a.Service.RotateKey(x.r.Context(), callerStoring(x, keyResponse(200)), id, overlap)
	if err != nil {
		return err
	}
	x.sendJSON(200, encode(issued))
	return nil
}

// defaultOverlap is how long old secrets keep working after a rotation if the request does not say.
const defaultOverlap = 24 * time.Hour

func decodeOverlap(body []byte) (time.Duration, error) {
	o, err := parseOptionalObject(body)
	if err != nil {
		return 0, err
	}
	overlap := o.seconds("overlapSeconds", defaultOverlap)
	if reason := shop.OverlapProblem(overlap); reason != "" {
		o.problems.Add("overlapSeconds", reason)
	}
	return overlap, o.problems.Err()
}

func (a *API) revokeKey(x *exchange) error {
	id, err := x.pathID("key")
	if err != nil {
		return err
	}
	if err := a.Service.RevokeKey(x.r.Context(), x.caller(), id); err != nil {
		return err
	}
	x.sendNoContent()
	return nil
}
