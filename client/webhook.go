package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Webhook is a URL that receives events; the receiver uses [VerifyWebhook]. All webhook methods need a key
// with the admin scope.
type Webhook struct {
	ID             int64       `json:"id"`
	URL            string      `json:"url"`
	Types          []EventType `json:"types,omitempty"` // empty: all
	Enabled        bool        `json:"enabled"`
	DisabledReason string      `json:"disabledReason,omitempty"` // set if the service disabled it
	FailingSince   time.Time   `json:"failingSince,omitzero"`    // no delivery has succeeded since then; zero if it is healthy
	CreatedAt      time.Time   `json:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt"`
	// Secret is for [VerifyWebhook]. Only CreateWebhook and RotateWebhook return it; it cannot be read later.
	Secret string `json:"secret,omitempty"`
}

// NewWebhook describes a webhook to create.
type NewWebhook struct {
	URL   string      `json:"url"`
	Types []EventType `json:"types,omitempty"` // empty: all
}

// WebhookUpdate changes a webhook. Nil fields stay unchanged.
type WebhookUpdate struct {
	URL     *string      `json:"url,omitempty"`
	Types   *[]EventType `json:"types,omitempty"`   // an empty slice: all
	Enabled *bool        `json:"enabled,omitempty"` // deliveries resume where they stopped
}

// DeliveryStatus is the state of a delivery.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"   // waiting for its next attempt, or for its webhook to be enabled
	DeliverySucceeded DeliveryStatus = "succeeded" // the receiver accepted it
	DeliveryFailed    DeliveryStatus = "failed"    // it will not be retried
)

// Delivery is one message to one webhook, with its attempts.
type Delivery struct {
	ID            int64          `json:"id"`
	WebhookID     int64          `json:"webhookId"`
	MessageID     string         `json:"messageId"`         // the webhook-id header: the same for every attempt and redelivery
	EventID       string         `json:"eventId,omitempty"` // empty for a test message
	EventType     EventType      `json:"eventType"`
	Status        DeliveryStatus `json:"status"`
	Attempts      []Attempt      `json:"attempts"`
	CreatedAt     time.Time      `json:"createdAt"`
	NextAttemptAt time.Time      `json:"nextAttemptAt,omitzero"` // zero if there will be none
}

// Attempt is one attempt to deliver a message.
type Attempt struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"durationMs"`
	Status     int       `json:"status,omitempty"` // HTTP status; 0 if there was no response
	Answer     string    `json:"answer,omitempty"` // the first bytes of the response body
	Error      string    `json:"error,omitempty"`  // why there was no response
}

// DeliveryQuery selects the deliveries to list. Zero fields are ignored.
type DeliveryQuery struct {
	Status DeliveryStatus
	Limit  int    // page size, 1 to 100
	Cursor string // next from ListDeliveries; empty for the first page
}

func (q DeliveryQuery) values() url.Values {
	query := pageQuery(q.Limit, q.Cursor)
	if q.Status != "" {
		query.Set("status", string(q.Status))
	}
	return query
}

// Webhooks iterates over all webhooks, newest first. It ends with the first error.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[Webhook, error] {
	return all[Webhook](ctx, c, "/webhooks", byCursor, pageQuery(0, ""))
}

// GetWebhook returns one webhook, or fails with [CodeNotFound].
func (c *Client) GetWebhook(ctx context.Context, id int64) (hook Webhook, err error) {
	_, err = c.get(ctx, pathOf("/webhooks", id), nil, &hook)
	return hook, err
}

// CreateWebhook creates a webhook, which receives all events from then on, and returns it with its secret, or
// with [ErrSecretLost].
func (c *Client) CreateWebhook(ctx context.Context, n NewWebhook, options ...PostOption) (Webhook, error) {
	return c.issueWebhook(ctx, "/webhooks", n, options)
}

// UpdateWebhook changes a webhook and returns its new state. It fails with [CodeNotFound].
func (c *Client) UpdateWebhook(ctx context.Context, id int64, u WebhookUpdate) (hook Webhook, err error) {
	_, err = c.do(ctx, request{method: http.MethodPatch, path: pathOf("/webhooks", id), body: u}, &hook)
	return hook, err
}

// DeleteWebhook deletes a webhook and its delivery log. It fails with [CodeNotFound].
func (c *Client) DeleteWebhook(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/webhooks", id)}, nil)
	return err
}

// RotateWebhook gives a webhook a new secret and returns it, or [ErrSecretLost]. For the overlap, rounded up
// to a second, messages are also signed with the old secret; see [DefaultOverlap]. It fails with
// [CodeNotFound].
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

// TestWebhook sends a message of type [EventWebhookTest] to a webhook, even if it is disabled. It is
// attempted once, and the result appears among the deliveries soon after. It fails with [CodeNotFound].
func (c *Client) TestWebhook(ctx context.Context, id int64, options ...PostOption) (delivery Delivery, err error) {
	_, err = c.post(ctx, pathOf("/webhooks", id)+"/test", nil, options, &delivery)
	return delivery, err
}

// ListDeliveries returns one page of the deliveries to a webhook, newest first; the default page size is 20.
// For the following page, set Cursor to next, which is empty on the last page. [Client.Deliveries] iterates
// over all pages. It fails with [CodeNotFound].
func (c *Client) ListDeliveries(ctx context.Context, webhookID int64, q DeliveryQuery) (deliveries []Delivery, next string, err error) {
	return fetchPage[Delivery](ctx, c, pathOf("/webhooks", webhookID)+"/deliveries", byCursor, q.values())
}

// Deliveries iterates over all deliveries to a webhook that match a query, newest first. It ends with the
// first error.
func (c *Client) Deliveries(ctx context.Context, webhookID int64, q DeliveryQuery) iter.Seq2[Delivery, error] {
	return all[Delivery](ctx, c, pathOf("/webhooks", webhookID)+"/deliveries", byCursor, q.values())
}

// Redeliver sends a message to a webhook again, whatever the result of the earlier delivery, and returns the
// new delivery. It fails with [CodeNotFound].
func (c *Client) Redeliver(ctx context.Context, webhookID, id int64, options ...PostOption) (delivery Delivery, err error) {
	_, err = c.post(ctx, pathOf(pathOf("/webhooks", webhookID)+"/deliveries", id)+"/redeliver", nil, options, &delivery)
	return delivery, err
}
