package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Webhook is a URL to which the service sends events. The receiver checks each message with [VerifyWebhook].
// All webhook methods need an API key with the admin scope.
type Webhook struct {
	ID             int64       `json:"id"`
	URL            string      `json:"url"`
	Types          []EventType `json:"types,omitempty"` // if empty, all events about animals, categories and orders are sent
	Enabled        bool        `json:"enabled"`
	DisabledReason string      `json:"disabledReason,omitempty"` // set if the service disabled the webhook
	FailingSince   time.Time   `json:"failingSince,omitzero"`    // no delivery has succeeded since this time; zero if the webhook is healthy
	CreatedAt      time.Time   `json:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt"`
	// Secret is the secret to pass to [VerifyWebhook]. Only CreateWebhook and RotateWebhook return it, and it
	// cannot be read later.
	Secret string `json:"secret,omitempty"`
}

// NewWebhook describes a webhook to create.
type NewWebhook struct {
	URL   string      `json:"url"`
	Types []EventType `json:"types,omitempty"` // if empty, all events about animals, categories and orders are sent
}

// WebhookUpdate describes a change to a webhook. Fields that are nil stay unchanged.
type WebhookUpdate struct {
	URL     *string      `json:"url,omitempty"`
	Types   *[]EventType `json:"types,omitempty"`   // if the slice is empty, all events about animals, categories and orders are sent
	Enabled *bool        `json:"enabled,omitempty"` // after the webhook is enabled again, deliveries resume where they stopped
}

// DeliveryStatus is the state of a delivery to a webhook.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"   // waiting for the next attempt or for the webhook to be enabled
	DeliverySucceeded DeliveryStatus = "succeeded" // the receiver accepted the message
	DeliveryFailed    DeliveryStatus = "failed"    // the delivery will not be retried
)

// Delivery is the delivery of one message to one webhook, with all attempts made so far.
type Delivery struct {
	ID            int64          `json:"id"`
	WebhookID     int64          `json:"webhookId"`
	MessageID     string         `json:"messageId"`         // the webhook-id header, which is the same for every attempt and redelivery
	EventID       string         `json:"eventId,omitempty"` // empty for a test message
	EventType     EventType      `json:"eventType"`
	Status        DeliveryStatus `json:"status"`
	Attempts      []Attempt      `json:"attempts"`
	CreatedAt     time.Time      `json:"createdAt"`
	NextAttemptAt time.Time      `json:"nextAttemptAt,omitzero"` // zero if there will be no further attempt
}

// Attempt is one attempt to deliver a message to a webhook.
type Attempt struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"durationMs"`
	Status     int       `json:"status,omitempty"` // the HTTP status; 0 if there was no response
	Answer     string    `json:"answer,omitempty"` // the first bytes of the response body
	Error      string    `json:"error,omitempty"`  // the reason why there was no response
}

// DeliveryQuery selects the deliveries to list. Fields with their zero value are ignored.
type DeliveryQuery struct {
	Status DeliveryStatus
	Limit  int    // the number of deliveries per page, 1 to 100
	Cursor string // the value of next returned by ListDeliveries; empty for the first page
}

func (q DeliveryQuery) values() url.Values {
	query := pageQuery(q.Limit, q.Cursor)
	if q.Status != "" {
		query.Set("status", string(q.Status))
	}
	return query
}

// Webhooks iterates over all webhooks, newest first. The first error is yielded and ends the iteration.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[Webhook, error] {
	return all[Webhook](ctx, c, "/webhooks", byCursor, pageQuery(0, ""))
}

// GetWebhook returns the webhook with this id. It fails with [CodeNotFound] if there is none.
func (c *Client) GetWebhook(ctx context.Context, id int64) (hook Webhook, err error) {
	_, err = c.get(ctx, pathOf("/webhooks", id), nil, &hook)
	return hook, err
}

// CreateWebhook creates a webhook and returns it with its secret. From then on, the service sends all events of the
// selected types to the webhook. If the response with the secret was lost, CreateWebhook returns the webhook without
// its secret, together with [ErrSecretLost].
func (c *Client) CreateWebhook(ctx context.Context, n NewWebhook, options ...PostOption) (Webhook, error) {
	return c.issueWebhook(ctx, "/webhooks", n, options)
}

// UpdateWebhook changes a webhook and returns its new state. It fails with [CodeNotFound] if the webhook does
// not exist.
func (c *Client) UpdateWebhook(ctx context.Context, id int64, u WebhookUpdate) (hook Webhook, err error) {
	_, err = c.do(ctx, request{method: http.MethodPatch, path: pathOf("/webhooks", id), body: u}, &hook)
	return hook, err
}

// DeleteWebhook deletes a webhook and its delivery log. It fails with [CodeNotFound] if the webhook does not
// exist.
func (c *Client) DeleteWebhook(ctx context.Context, id int64) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: pathOf("/webhooks", id)}, nil)
	return err
}

// RotateWebhook gives a webhook a new secret and returns the webhook with that secret. If an earlier
// attempt rotated the secret but its response was lost, RotateWebhook returns [ErrSecretLost]. During the overlap,
// which is rounded up to whole seconds, messages are also signed with the old secret; see [DefaultOverlap].
// RotateWebhook fails with [CodeNotFound] if the webhook does not exist, and with [CodeValidationFailed] if overlap is
// positive and the webhook already has 10 secrets.
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

// TestWebhook sends a message of type [EventWebhookTest] to a webhook, even if the webhook is disabled. The
// service makes only one attempt, whose result soon appears in the list of deliveries. TestWebhook fails with
// [CodeNotFound] if the webhook does not exist.
func (c *Client) TestWebhook(ctx context.Context, id int64, options ...PostOption) (delivery Delivery, err error) {
	_, err = c.post(ctx, pathOf("/webhooks", id)+"/test", nil, options, &delivery)
	return delivery, err
}

// ListDeliveries returns one page of the deliveries to a webhook, newest first. The default page size is 20.
// To get the next page, set Cursor to the returned value of next, which is empty on the last page.
// [Client.Deliveries] iterates over all pages. ListDeliveries fails with [CodeNotFound] if the webhook does
// not exist.
func (c *Client) ListDeliveries(ctx context.Context, webhookID int64, q DeliveryQuery) (deliveries []Delivery, next string, err error) {
	return fetchPage[Delivery](ctx, c, pathOf("/webhooks", webhookID)+"/deliveries", byCursor, q.values())
}

// Deliveries iterates over all deliveries to a webhook that match a query, newest first. The first error is
// yielded and ends the iteration.
func (c *Client) Deliveries(ctx context.Context, webhookID int64, q DeliveryQuery) iter.Seq2[Delivery, error] {
	return all[Delivery](ctx, c, pathOf("/webhooks", webhookID)+"/deliveries", byCursor, q.values())
}

// Redeliver sends the message from an earlier delivery to the webhook again, whether or not that delivery
// succeeded. It returns the new delivery. Redeliver fails with [CodeNotFound] if the webhook or the earlier
// delivery does not exist.
func (c *Client) Redeliver(ctx context.Context, webhookID, id int64, options ...PostOption) (delivery Delivery, err error) {
	_, err = c.post(ctx, pathOf(pathOf("/webhooks", webhookID)+"/deliveries", id)+"/redeliver", nil, options, &delivery)
	return delivery, err
}
