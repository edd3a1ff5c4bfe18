package httpapi

import (
	"context"
	"fmt"
	"net/url"

	"animalstore/internal/shop"
)

func (a *API) testWebhook(c *call) error {
	id, err := c.idOf("webhook")
	if err != nil {
		return err
	}
	return once(c, func(ctx context.Context) (shop.Delivery, error) { return a.Service.TestWebhook(ctx, id) },
		answerWith[shop.Delivery](202))
}

func (a *API) listDeliveries(c *call) error {
	list, err := parseDeliveryList(c.r.URL.RawQuery)
	if err != nil {
		return err
	}
	if list.WebhookID, err = c.idOf("webhook"); err != nil {
		return err
	}
	page, err := a.Service.ListDeliveries(c.r.Context(), list)
	if err != nil {
		return err
	}
	query := url.Values{}
	if list.Status != "" {
		query.Set("status", string(list.Status))
	}
	path := fmt.Sprintf("/webhooks/%d/deliveries", list.WebhookID)
	linkPage(a, c, path, query, list.PageRequest, page, func(d shop.Delivery) int64 { return d.ID })
	sendPage(c, page)
	return nil
}

func parseDeliveryList(rawQuery string) (shop.DeliveryList, error) {
	q := parseQuery(rawQuery)
	list := shop.DeliveryList{
		Status:      shop.DeliveryStatus(q.oneOf("status", shop.DeliveryStatusProblem)),
		PageRequest: q.window(),
	}
	return list, q.err
}

func (a *API) redeliver(c *call) error {
	webhookID, err := c.idOf("webhook")
	if err != nil {
		return err
	}
	id, err := c.idAt(1, "delivery")
	if err != nil {
		return err
	}
	return once(c, func(ctx context.Context) (shop.Delivery, error) { return a.Service.Redeliver(ctx, webhookID, id) },
		answerWith[shop.Delivery](202))
}
