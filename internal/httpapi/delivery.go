package httpapi

import (
	"fmt"
	"net/url"

	"animalstore/internal/shop"
)

func (a *API) listDeliveries(x *exchange) error {
	list, err := parseDeliveryList(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	if list.WebhookID, err = x.pathID("webhook"); err != nil {
		return err
	}
	page, err := a.Service.ListDeliveries(x.r.Context(), list)
	if err != nil {
		return err
	}
	query := url.Values{}
	if list.Status != "" {
		query.Set("status", string(list.Status))
	}
	path := fmt.Sprintf("/webhooks/%d/deliveries", list.WebhookID)
	setPageLinks(a, x, path, query, list.PageRequest, page, func(d shop.Delivery) int64 { return d.ID })
	sendPage(x, page)
	return nil
}

func parseDeliveryList(rawQuery string) (shop.DeliveryList, error) {
	q := parseQuery(rawQuery)
	list := shop.DeliveryList{
		Status:      shop.DeliveryStatus(q.checkedText("status", shop.DeliveryStatusProblem)),
		PageRequest: q.pageRequest(),
	}
	return list, q.err
}

func (a *API) redeliver(x *exchange) error {
	webhookID, err := x.pathID("webhook")
	if err != nil {
		return err
	}
	id, err := x.pathIDAt(1, "delivery")
	if err != nil {
		return err
	}
	respond := respondWith[shop.Delivery](202)
	delivery, err := a.Service.Redeliver(x.r.Context(), callerStoring(x, respond), webhookID, id)
	if err != nil {
		return err
	}
	x.sendStored(respond(delivery))
	return nil
}
