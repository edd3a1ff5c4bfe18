package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Webhook is an address that is told of events; [VerifyWebhook] is for those who listen there. What concerns webhooks
// needs a key with the scope admin.
type Webhook struct {
	ID             int64       `json:"id"`
	URL            string      `json:"url"`
	Types          []EventType `json:"types,omitempty"` // none: all
	Enabled        bool        `json:"enabled"`
	DisabledReason string      `json:"disabledReason,omitempty"` // why the service itself disabled it
	FailingSince   time.Time   `json:"failingSince,omitzero"`    // it has taken nothing since then; zero: all is well
	CreatedAt      time.Time   `json:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt"`
	// Secret is what goes into [VerifyWebhook]. Only CreateWebhook and RotateWebhook return it, and nobody can ask for it
	// again.
	Secret string `json:"secret,omitempty"`
}

// NewWebhook is a webhook that is to be made.
type NewWebhook struct {
	URL   string      `json:"url"`
	Types []EventType `json:"types,omitempty"` // none: all
}

// WebhookUpdate is what shall be different about a webhook; what is nil stays.
type WebhookUpdate struct {
	URL     *string      `json:"url,omitempty"`
	Types   *[]EventType `json:"types,omitempty"`   // a nil slice: all
	Enabled *bool        `json:"enabled,omitempty"` // one that is enabled again goes on where it stopped
}

// DeliveryStatus is how far a delivery has come.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"   // it will be tried, or waits until its webhook is enabled
	DeliverySucceeded DeliveryStatus = "succeeded" // the webhook took it
	DeliveryFailed    DeliveryStatus = "failed"    // it will not be tried again
)

// Delivery is one message to one webhook, with what became of it.
type Delivery struct {
	ID            int64          `json:"id"`
	WebhookID     int64          `json:"webhookId"`
	MessageID     string         `json:"messageId"`         // the header webhook-id: the same for every attempt and redelivery
	EventID       string         `json:"eventId,omitempty"` // empty: it only tries the webhook out
	EventType     EventType      `json:"eventType"`
	Status        DeliveryStatus `json:"status"`
	Attempts      []Attempt      `json:"attempts"`
	CreatedAt     time.Time      `json:"createdAt"`
	NextAttemptAt time.Time      `json:"nextAttemptAt,omitzero"` // zero: there is none to come
}

// Attempt is one try of a delivery.
type Attempt struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"durationMs"`
	Status     int       `json:"status,omitempty"` // of the answer; 0: there was none
	Answer     string    `json:"answer,omitempty"` // its first bytes
	Error      string    `json:"error,omitempty"`  // why there was no answer
}

// DeliveryQuery says which deliveries are listed; what is zero does not narrow the list.
type DeliveryQuery struct {
	Status DeliveryStatus
	Limit  int    // the most deliveries on one page, 1 to 100
	Cursor string // where the page starts: what ListDeliveries returned with the one before
}

func (q DeliveryQuery) values() url.Values {
	query := pageQuery(q.Limit, q.Cursor)
	if q.Status != "" {
		query.Set("status", string(q.Status))
	}
	return query
}

// Webhooks walks all the webhooks, newest first. It ends with the first error.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[Webhook, error] {
	return all[Webhook](ctx, c, "/webhooks", byCursor, pageQuery(0, ""))
}

// GetWebhook gets one webhook, or fails with [CodeNotFound].
func (c *Client) GetWebhook(ctx context.Context, id int64) (hook Webhook, err error) {
	_, err = c.get(ctx, pathOf("/webhooks", id), nil, &hook)
	return hook, err
}

// CreateWebhook makes a webhook, which is told of what happens from then on, and returns it with its secret, or with
// [ErrSecretLost].
func (c *Client) CreateWebhook(ctx context.Context, n NewWebhook, options ...PostOption) (Webhook, error) {
	return c.issueWebhook(ctx, "/webhooks", n, options)
}

// UpdateWebhook changes a webhook and returns it as it is then. It fails with [CodeNotFound].
func (c *Client) UpdateWebhook(ctx context.Context, id int64, u WebhookUpdate) (hook Webhook, err error) {
	_, err = c.do(ctx, request{method: http.MethodPatch, path: pathOf("/webhooks", id), body: u}, &hook)
	return hook, err
}

// DeleteWebhook removes a webhook. Nobody can see any more what it was sent. It fails with [CodeNotFound].
func (c *Client) DeleteWebhook(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/webhooks", id)}, nil)
	return err
}

// RotateWebhook gives a webhook a new secret and returns it, or [ErrSecretLost]. For the overlap, rounded up to a second,
// messages are signed with the old secret, too; see [DefaultOverlap]. It fails with [CodeNotFound].
func (c *Client) RotateWebhook(ctx context.Context, id int64, overlap time.Duration, options ...PostOption) (Webhook, error) {
	return c.issueWebhook(ctx, pathOf("/webhooks", id)+"/rotate", newRotation(overlap), options)
}

func (c *Client) issueWebhook(ctx context.Context, path string, body any, options []PostOption) (hook Webhook, err error) {
	_, err = c.post(ctx, path, body, options, &hook)
	if err == nil && hook.Secret == "" {
		err = ErrSecretLost
	}
	return hook, err
}

// TestWebhook sends a message of the type [EventWebhookTest] to a webhook, once, also where it is disabled. What became of
// it stands among the deliveries soon after. It fails with [CodeNotFound].
func (c *Client) TestWebhook(ctx context.Context, id int64, options ...PostOption) (delivery Delivery, err error) {
	_, err = c.post(ctx, pathOf("/webhooks", id)+"/test", nil, options, &delivery)
	return delivery, err
}

// ListDeliveries gets one page of the deliveries to a webhook, newest first, of 20 where the query has no limit. The cursor
// next goes into the query for the following page; it is empty after the last one. [Client.Deliveries] does that by itself.
// It fails with [CodeNotFound].
func (c *Client) ListDeliveries(ctx context.Context, webhookID int64, q DeliveryQuery) (deliveries []Delivery, next string, err error) {
	return fetchPage[Delivery](ctx, c, pathOf("/webhooks", webhookID)+"/deliveries", byCursor, q.values())
}

// Deliveries walks all the deliveries to a webhook that a query asks for, newest first. It ends with the first error.
func (c *Client) Deliveries(ctx context.Context, webhookID int64, q DeliveryQuery) iter.Seq2[Delivery, error] {
	return all[Delivery](ctx, c, pathOf("/webhooks", webhookID)+"/deliveries", byCursor, q.values())
}

// Redeliver sends a message to a webhook again, whatever became of it before, and returns the new delivery. It fails with
// [CodeNotFound].
func (c *Client) Redeliver(ctx context.Context, webhookID, id int64, options ...PostOption) (delivery Delivery, err error) {
	_, err = c.post(ctx, pathOf(pathOf("/webhooks", webhookID)+"/deliveries", id)+"/redeliver", nil, options, &delivery)
	return delivery, err
}
