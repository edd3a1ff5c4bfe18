package staff

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// webhooksPage is the template data for the list of webhooks.
type webhooksPage struct {
	Page     shop.Page[shop.Webhook]
	NextFrom int64 // the id of the last row if there is a next page, else 0
	URL      string
	Selected map[shop.EventType]bool
	Problem  string
}

func (p *Pages) webhooks(x *exchange) error { return x.showWebhooks(http.StatusOK, webhooksPage{}) }

func (x *exchange) showWebhooks(status int, page webhooksPage) (err error) {
	if page.Page, err = x.Service.ListWebhooks(x.r.Context(), x.pageRequest()); err != nil {
		return err
	}
	if items := page.Page.Items; page.Page.More {
		page.NextFrom = items[len(items)-1].ID
	}
	return x.show(status, "webhooks", "Webhooks", page)
}

// selectedTypes returns the event types that are selected in the form, as a list and as a set. If no type is
// selected, both are empty, which means that the webhook receives all types.
func (x *exchange) selectedTypes() (types []shop.EventType, selected map[shop.EventType]bool) {
	selected = map[shop.EventType]bool{}
	for _, t := range x.r.PostForm["type"] {
		types = append(types, shop.EventType(t))
		selected[shop.EventType(t)] = true
	}
	return types, selected
}

func (p *Pages) addWebhook(x *exchange) error {
	types, selected := x.selectedTypes()
	page := webhooksPage{URL: strings.TrimSpace(x.field("url")), Selected: selected}
	var issued shop.IssuedWebhook
	hook, err := onceKeeping(x, "", func(issued shop.IssuedWebhook) shop.Webhook { return issued.Webhook }, func(by shop.Caller) (_ shop.IssuedWebhook, err error) {
		issued, err = p.Service.CreateWebhook(x.r.Context(), by, shop.NewWebhook{URL: page.URL, Types: types})
		return issued, err
	})
	if err != nil {
		return showProblem(err, func(problem string) error {
			page.Problem = problem
			return x.showWebhooks(http.StatusUnprocessableEntity, page)
		})
	}
	if issued.Secret == "" { // the form was sent before
		return x.showWebhook(http.StatusOK, hook.ID, webhookPage{Problem: fmt.Sprintf(secretLost, "The webhook")})
	}
	return x.showWebhook(http.StatusOK, issued.ID, webhookPage{Secret: issued.Secret})
}

// webhookPage is the template data for the page about one webhook.
type webhookPage struct {
	shop.Webhook
	Selected   map[shop.EventType]bool
	Deliveries shop.Page[shop.Delivery]
	Status     string // the status by which the deliveries are filtered
	NextURL    string // the path of the next page of deliveries, or "" if this is the last page
	Secret     string // the secret if it was just created, else ""
	Problem    string
}

// DeliveryStatuses returns the statuses by which deliveries can be filtered.
func (webhookPage) DeliveryStatuses() []shop.DeliveryStatus {
	return []shop.DeliveryStatus{shop.DeliveryPending, shop.DeliverySucceeded, shop.DeliveryFailed}
}

func (p *Pages) webhook(x *exchange, id int64) error {
	return x.showWebhook(http.StatusOK, id, webhookPage{})
}

func (x *exchange) showWebhook(status int, id int64, page webhookPage) (err error) {
	if page.Webhook, err = x.Service.Webhook(x.r.Context(), id); err != nil {
		return err
	}
	page.Selected = map[shop.EventType]bool{}
	for _, t := range page.Types {
		page.Selected[t] = true
	}
	list := shop.DeliveryList{WebhookID: id, PageRequest: x.pageRequest()}
	if text := x.r.URL.Query().Get("status"); shop.DeliveryStatusProblem(text) == "" {
		page.Status, list.Status = text, shop.DeliveryStatus(text)
	}
	if page.Deliveries, err = x.Service.ListDeliveries(x.r.Context(), list); err != nil {
		return err
	}
	if items := page.Deliveries.Items; page.Deliveries.More {
		page.NextURL = fmt.Sprintf("/staff/webhooks/%d?status=%s&from=%d", id, page.Status, items[len(items)-1].ID)
	}
	return x.show(status, "webhook", "Webhook "+strconv.FormatInt(id, 10), page)
}

// showChangedWebhook responds after a change of a webhook, or after an attempt that failed with err. If the user can
// act on the error, the page shows it. showChangedWebhook returns any other error.
func (x *exchange) showChangedWebhook(id int64, err error) error {
	if isNotFound(err) {
		return err
	}
	if err != nil {
		return showProblem(err, func(problem string) error {
			return x.showWebhook(statusOf(shop.AsError(err).Code), id, webhookPage{Problem: problem})
		})
	}
	return x.redirect("/staff/webhooks/" + strconv.FormatInt(id, 10))
}

func (p *Pages) saveWebhook(x *exchange, id int64) error {
	types, _ := x.selectedTypes()
	url, enabled := strings.TrimSpace(x.field("url")), x.field("enabled") == "on"
	_, err := p.Service.UpdateWebhook(x.r.Context(), x.caller(), id, shop.WebhookChange{URL: &url, Types: &types, Enabled: &enabled}, nil)
	return x.showChangedWebhook(id, err)
}

func (p *Pages) rotateWebhook(x *exchange, id int64) error {
	if !x.confirmed() {
		return x.askAboutWebhook(id, "Create a new secret for this webhook?", "Events are signed with the new secret from then on.", "Create new secret")
	}
	overlap, err := parseOverlap(x.field("overlap"))
	if err != nil {
		return x.showChangedWebhook(id, err)
	}
	issued, err := p.Service.RotateWebhook(x.r.Context(), x.caller(), id, overlap)
	if err != nil {
		return x.showChangedWebhook(id, err)
	}
	return x.showWebhook(http.StatusOK, id, webhookPage{Secret: issued.Secret})
}

func (p *Pages) testWebhook(x *exchange, id int64) error {
	_, err := p.Service.TestWebhook(x.r.Context(), x.caller(), id)
	return x.showChangedWebhook(id, err)
}

func (p *Pages) redeliver(x *exchange, id int64) error {
	delivery, err := x.pathID("delivery")
	if err == nil {
		_, err = p.Service.Redeliver(x.r.Context(), x.caller(), id, delivery)
	}
	return x.showChangedWebhook(id, err)
}

// askAboutWebhook asks the user to confirm an irreversible action on a webhook.
func (x *exchange) askAboutWebhook(id int64, title, text, button string) error {
	hook, err := x.Service.Webhook(x.r.Context(), id)
	if err != nil {
		return err
	}
	return x.ask(question{
		Title: title, Text: hook.URL + ": " + text + " This can’t be undone.", Button: button, Danger: true,
		Back: "/staff/webhooks/" + strconv.FormatInt(id, 10),
	})
}

func (p *Pages) deleteWebhook(x *exchange, id int64) error {
	if !x.confirmed() {
		return x.askAboutWebhook(id, "Remove this webhook?", "No further events will be sent to it.", "Remove webhook")
	}
	if err := p.Service.DeleteWebhook(x.r.Context(), x.caller(), id, nil); err != nil {
		return err
	}
	return x.redirect("/staff/webhooks")
}
