package httpapi

import (
	"context"
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
	create := func(ctx context.Context) (shop.IssuedKey, error) { return a.Service.CreateKey(ctx, n) }
	return runIdempotentSecret(x, create, withoutKeySecret, respondWith[shop.IssuedKey](201))
}

func withoutKeySecret(key shop.IssuedKey) shop.IssuedKey { return shop.IssuedKey{Key: key.Key} }

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
	rotate := func(ctx context.Context) (shop.IssuedKey, error) { return a.Service.RotateKey(ctx, id, overlap) }
	return runIdempotentSecret(x, rotate, withoutKeySecret, respondWith[shop.IssuedKey](200))
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
	if err := a.Service.RevokeKey(x.context(), id); err != nil {
		return err
	}
	x.sendNoContent()
	return nil
}
