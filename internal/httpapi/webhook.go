package httpapi

import (
	"fmt"
	"net/url"

	"animalstore/internal/shop"
)

func (a *API) listWebhooks(x *exchange) error {
	q := parseQuery(x.r.URL.RawQuery)
	request := q.pageRequest()
	if q.err != nil {
		return q.err
	}
	page, err := a.Service.ListWebhooks(x.r.Context(), request)
	if err != nil {
		return err
	}
	setPageLinks(a, x, "/webhooks", url.Values{}, request, page, func(w shop.Webhook) int64 { return w.ID })
	sendPage(x, page)
	return nil
}

func (a *API) createWebhook(x *exchange) error {
	n, err := decodeNewWebhook(x.body)
	if err != nil {
		return err
	}
	respond := func(hook shop.IssuedWebhook) shop.StoredResponse {
		location := fmt.Sprintf("%s/webhooks/%d", a.basePath, hook.ID)
		return shop.StoredResponse{Status: 201, Location: location, Tag: resourceTag(hook.Webhook), Body: encode(hook)}
	}
	issued, err := a.Service.CreateWebhook(x.r.Context(), callerStoring(x, withoutWebhookSecret(respond)), n)
	if err != nil {
		return err
	}
	x.sendStored(respond(issued))
	return nil
}

// withoutWebhookSecret returns a function that is like respond, but leaves out the webhook's secret.
func withoutWebhookSecret(respond func(shop.IssuedWebhook) shop.StoredResponse) func(shop.IssuedWebhook) shop.StoredResponse {
	return func(hook shop.IssuedWebhook) shop.StoredResponse {
		return respond(shop.IssuedWebhook{Webhook: hook.Webhook})
	}
}

func decodeNewWebhook(body []byte) (n shop.NewWebhook, err error) {
	o, err := parseObject(body)
	if err != nil {
		return n, err
	}
	n = shop.NewWebhook{URL: o.url("url"), Types: o.eventTypes("types")}
	o.problems.Merge(n.Problems())
	return n, o.problems.Err()
}

func (a *API) getWebhook(x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	hook, err := a.Service.Webhook(x.r.Context(), id)
	if err != nil {
		return err
	}
	x.sendResource(resourceTag(hook), encode(hook))
	return nil
}

func (a *API) updateWebhook(x *exchange) error {
	change, err := decodeWebhookChange(x.body)
	if err != nil {
		return err
	}
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	hook, err := a.Service.UpdateWebhook(x.r.Context(), x.caller(), id, change, preconditions[shop.Webhook](x))
	if err != nil {
		return err
	}
	x.w.Header().Set("ETag", resourceTag(hook))
	x.sendJSON(200, encode(hook))
	return nil
}

// decodeWebhookChange decodes a merge patch. The only member that can be removed is types. Without it, the
// webhook receives events of all types.
func decodeWebhookChange(body []byte) (change shop.WebhookChange, err error) {
	o, err := parseObject(body)
	if err != nil {
		return change, err
	}
	if o.has("url") {
		change.URL = new(o.url("url"))
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

func (a *API) deleteWebhook(x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	if err := a.Service.DeleteWebhook(x.r.Context(), x.caller(), id, preconditions[shop.Webhook](x)); err != nil {
		return err
	}
	x.sendNoContent()
	return nil
}

func (a *API) rotateWebhook(x *exchange) error {
	overlap, err := decodeOverlap(x.body)
	if err != nil {
		return err
	}
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	respond := func(hook shop.IssuedWebhook) shop.StoredResponse {
		return shop.StoredResponse{Status: 200, Tag: resourceTag(hook.Webhook), Body: encode(hook)}
	}
	issued, err := a.Service.RotateWebhook(x.r.Context(), callerStoring(x, withoutWebhookSecret(respond)), id, overlap)
	if err != nil {
		return err
	}
	x.sendStored(respond(issued))
	return nil
}

func (a *API) testWebhook(x *exchange) error {
	id, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	respond := respondWith[shop.Delivery](202)
	delivery, err := a.Service.TestWebhook(x.r.Context(), callerStoring(x, respond), id)
	if err != nil {
		return err
	}
	x.sendStored(respond(delivery))
	return nil
}
