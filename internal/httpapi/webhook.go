package httpapi

import (
	"context"
	"fmt"
	"net/url"

	"animalstore/internal/shop"
)

func (a *API) listWebhooks(c *call) error {
	q := parseQuery(c.r.URL.RawQuery)
	window := q.window()
	if q.err != nil {
		return q.err
	}
	page, err := a.Service.ListWebhooks(c.r.Context(), window)
	if err != nil {
		return err
	}
	linkPage(a, c, "/webhooks", url.Values{}, window, page, func(w shop.Webhook) int64 { return w.ID })
	sendPage(c, page)
	return nil
}

func (a *API) createWebhook(c *call) error {
	n, err := decodeNewWebhook(c.body)
	if err != nil {
		return err
	}
	create := func(ctx context.Context) (shop.IssuedWebhook, error) { return a.Service.CreateWebhook(ctx, n) }
	return onceSecret(c, create, withoutWebhookSecret, func(hook shop.IssuedWebhook) shop.StoredResponse {
		location := fmt.Sprintf("%s/webhooks/%d", a.basePath, hook.ID)
		return shop.StoredResponse{Status: 201, Location: location, Body: encode(hook)}
	})
}

func withoutWebhookSecret(hook shop.IssuedWebhook) shop.IssuedWebhook {
	return shop.IssuedWebhook{Webhook: hook.Webhook}
}

func decodeNewWebhook(body []byte) (n shop.NewWebhook, err error) {
	o, err := parseObject(body)
	if err != nil {
		return n, err
	}
	n = shop.NewWebhook{URL: o.address("url"), Types: o.eventTypes("types")}
	o.problems.Merge(n.Problems())
	return n, o.problems.Err()
}

func (a *API) getWebhook(c *call) error {
	id, err := c.idOf("webhook")
	if err != nil {
		return err
	}
	hook, err := a.Service.Webhook(c.r.Context(), id)
	if err != nil {
		return err
	}
	c.sendKept(thingTag(hook), encode(hook))
	return nil
}

func (a *API) updateWebhook(c *call) error {
	change, err := decodeWebhookChange(c.body)
	if err != nil {
		return err
	}
	id, err := c.idOf("webhook")
	if err != nil {
		return err
	}
	hook, err := a.Service.UpdateWebhook(c.context(), id, change, ifMatch[shop.Webhook](c))
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", thingTag(hook))
	c.sendJSON(200, encode(hook))
	return nil
}

// decodeWebhookChange reads a merge patch. Only the types can be taken away: without any, the webhook is told of all.
func decodeWebhookChange(body []byte) (change shop.WebhookChange, err error) {
	o, err := parseObject(body)
	if err != nil {
		return change, err
	}
	if o.has("url") {
		change.URL = new(o.address("url"))
	}
	if o.has("types") {
		change.Types = new(o.eventTypes("types"))
	}
	if o.has("enabled") {
		change.Enabled = new(o.boolean("enabled"))
	}
	o.problems.Merge(change.Problems())
	return change, o.problems.Err()
}

func (a *API) deleteWebhook(c *call) error {
	id, err := c.idOf("webhook")
	if err != nil {
		return err
	}
	if err := a.Service.DeleteWebhook(c.context(), id, ifMatch[shop.Webhook](c)); err != nil {
		return err
	}
	c.sendNothing()
	return nil
}

func (a *API) rotateWebhook(c *call) error {
	overlap, err := decodeOverlap(c.body)
	if err != nil {
		return err
	}
	id, err := c.idOf("webhook")
	if err != nil {
		return err
	}
	rotate := func(ctx context.Context) (shop.IssuedWebhook, error) {
		return a.Service.RotateWebhook(ctx, id, overlap)
	}
	return onceSecret(c, rotate, withoutWebhookSecret, answerWith[shop.IssuedWebhook](200))
}
