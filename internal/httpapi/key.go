package httpapi

import (
	"context"
	"net/url"
	"time"

	"animalstore/internal/shop"
)

func (a *API) listKeys(c *call) error {
	q := parseQuery(c.r.URL.RawQuery)
	window := q.window()
	if q.err != nil {
		return q.err
	}
	page, err := a.Service.ListKeys(c.r.Context(), window)
	if err != nil {
		return err
	}
	linkPage(a, c, "/keys", url.Values{}, window, page, func(k shop.Key) int64 { return k.ID })
	c.sendJSON(200, encode(page.Items))
	return nil
}

func (a *API) createKey(c *call) error {
	n, err := decodeNewKey(c.body, a.Service.Now())
	if err != nil {
		return err
	}
	create := func(ctx context.Context) (shop.IssuedKey, error) { return a.Service.CreateKey(ctx, n) }
	return onceSecret(c, create, withoutKeySecret, answerWith[shop.IssuedKey](201))
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

func (a *API) getCurrentKey(c *call) error {
	key, err := a.Service.CurrentKey(c.r.Context(), c.principal)
	if err != nil {
		return err
	}
	c.sendJSON(200, encode(key))
	return nil
}

func (a *API) rotateKey(c *call) error {
	overlap, err := decodeOverlap(c.body)
	if err != nil {
		return err
	}
	id, err := c.idOf("key")
	if err != nil {
		return err
	}
	rotate := func(ctx context.Context) (shop.IssuedKey, error) { return a.Service.RotateKey(ctx, id, overlap) }
	return onceSecret(c, rotate, withoutKeySecret, answerWith[shop.IssuedKey](200))
}

func decodeOverlap(body []byte) (time.Duration, error) {
	o, err := parseOptionalObject(body)
	if err != nil {
		return 0, err
	}
	overlap := o.seconds("overlapSeconds", shop.DefaultOverlap)
	if reason := shop.OverlapProblem(overlap); reason != "" {
		o.problems.Add("overlapSeconds", reason)
	}
	return overlap, o.problems.Err()
}

func (a *API) revokeKey(c *call) error {
	id, err := c.idOf("key")
	if err != nil {
		return err
	}
	if err := a.Service.RevokeKey(c.context(), id); err != nil {
		return err
	}
	c.sendNothing()
	return nil
}
