package httpapi

import (
	"net/url"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// keyWithSecret is the answer that shows a new secret, the only time.
type keyWithSecret struct {
	shop.Key
	Secret string `json:"key"`
}

func (a *API) listKeys(c *call) error {
	q := parseQuery(c.r.URL.RawQuery)
	list := shop.KeyList{Limit: q.limit(), Before: q.cursor()}
	if q.err != nil {
		return q.err
	}
	page, err := a.Service.ListKeys(c.r.Context(), list)
	if err != nil {
		return err
	}
	var last int64
	if n := len(page.Keys); n > 0 {
		last = page.Keys[n-1].ID
	}
	query := url.Values{"limit": {strconv.Itoa(list.Limit)}}
	c.w.Header().Set("Link", pageLinks(a.base(c.r)+"/keys", query, page.More, last))
	c.sendJSON(200, encode(page.Keys))
	return nil
}

func (a *API) createKey(c *call) error {
	o, err := readObject(c)
	if err != nil {
		return err
	}
	n := shop.NewKey{Name: o.text("name"), Scopes: o.scopes("scopes"), ExpiresAt: o.time("expiresAt")}
	o.problems.Merge(n.Problems(time.Now()))
	if err := o.problems.Err(); err != nil {
		return err
	}
	key, secret, err := a.Service.CreateKey(c.r.Context(), n)
	if err != nil {
		return err
	}
	c.sendJSON(201, encode(keyWithSecret{key, secret}))
	return nil
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
	id, err := keyID(c)
	if err != nil {
		return err
	}
	o, err := readOptionalObject(c)
	if err != nil {
		return err
	}
	overlap := o.seconds("overlapSeconds", shop.DefaultOverlap)
	if reason := shop.OverlapProblem(overlap); reason != "" {
		o.problems.Add("overlapSeconds", reason)
	}
	if err := o.problems.Err(); err != nil {
		return err
	}
	key, secret, err := a.Service.RotateKey(c.r.Context(), id, overlap)
	if err != nil {
		return err
	}
	c.sendJSON(200, encode(keyWithSecret{key, secret}))
	return nil
}

func (a *API) revokeKey(c *call) error {
	id, err := keyID(c)
	if err != nil {
		return err
	}
	if err := a.Service.RevokeKey(c.r.Context(), id); err != nil {
		return err
	}
	c.sendNothing()
	return nil
}

func keyID(c *call) (int64, error) {
	id, ok := parseInt64(c.params[0])
	if !ok {
		return 0, shop.Errorf(shop.NotFound, "There is no key with this id; an id is an integer of 64 bits.")
	}
	return id, nil
}
