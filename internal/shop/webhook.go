package shop

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// Webhook is a subscription to events. The events are sent to the webhook's URL.
type Webhook struct {
	ID             int64       `json:"id"`
	URL            string      `json:"url"`
	Types          []EventType `json:"types,omitempty"` // empty means all public event types
	Enabled        bool        `json:"enabled"`
	DisabledReason string      `json:"disabledReason,omitempty"` // set if the shop itself disabled the webhook
	FailingSince   time.Time   `json:"failingSince,omitzero"`    // every attempt since this time has failed
	CreatedAt      time.Time   `json:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt"`

	WebhookProgress `json:"-"`
}

// NewWebhook describes a webhook to be created.
type NewWebhook struct {
	URL   string
	Types []EventType // empty means all public event types that do not have to be named
}

// events returns the filter for the events that the webhook receives.
func (w Webhook) events() EventFilter {
	return EventFilter{Types: w.Types, Public: len(w.Types) == 0, Known: len(w.Types) == 0}
}

// Problems validates the fields of a new webhook.
func (n NewWebhook) Problems() Problems {
	return WebhookChange{URL: &n.URL, Types: &n.Types}.Problems()
}

// canonicalTypes returns the given types without duplicates and in the order of EventTypes.
func canonicalTypes(types []EventType) []EventType {
	return slices.DeleteFunc(EventTypes(), func(t EventType) bool { return !slices.Contains(types, t) })
}

// IssuedWebhook is a webhook together with its new secret. The secret is returned only once and cannot be
// recovered.
type IssuedWebhook struct {
	Webhook
	Secret string `json:"secret,omitempty"`
}

// ListWebhooks returns one page of webhooks, newest first.
func (s *Service) ListWebhooks(ctx context.Context, page PageRequest) (Page[Webhook], error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (Page[Webhook], error) {
		hooks, err := tx.Webhooks(page.oneMore())
		return pageOf(page.Limit, hooks, err)
	})
}

// Webhook returns the webhook with the given id. It fails with not_found if there is none.
func (s *Service) Webhook(ctx context.Context, id int64) (Webhook, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (Webhook, error) { return existingWebhook(tx, id) })
}

func existingWebhook(tx ReadTx, id int64) (Webhook, error) {
	hook, found, err := tx.Webhook(id)
	if err == nil && !found {
		err = Errorf(NotFound, "There is no webhook with the id %d; list the webhooks to find an existing one.", id)
	}
	return hook, err
}

// CreateWebhook adds a webhook that receives events from now on. It fails with validation_failed if the URL
// or a type is invalid.
func (s *Service) CreateWebhook(ctx context.Context, by Caller, n NewWebhook) (IssuedWebhook, error) {
	if err := n.Problems().Err(); err != nil {
		return IssuedWebhook{}, err
	}
	// Publish earlier events first, so that their positions are before that of the webhook.
	if err := s.store.Publish(ctx); err != nil {
		return IssuedWebhook{}, err
	}
	secret := newWebhookSecret()
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (IssuedWebhook, error) {
		now, err := tx.Now()
		if err != nil {
			return IssuedWebhook{}, err
		}
		last, err := tx.LastEvent()
		if err != nil {
			return IssuedWebhook{}, err
		}
		hook, err := tx.InsertWebhook(Webhook{
			URL: n.URL, Types: canonicalTypes(n.Types), Enabled: true, CreatedAt: now, UpdatedAt: now,
			WebhookProgress: WebhookProgress{Position: last},
		})
		if err != nil {
			return IssuedWebhook{}, err
		}
		return IssuedWebhook{hook, secret}, tx.InsertWebhookSecret(hook.ID, secret, now)
	})
}

// WebhookChange is a partial update of a webhook. Fields that are nil are not changed.
type WebhookChange struct {
	URL     *string
	Types   *[]EventType // empty means all public event types
	Enabled *bool
}

// Problems validates the fields that are to be changed.
func (c WebhookChange) Problems() Problems {
	var p Problems
	if c.URL != nil {
		if reason := webhookURLProblem(*c.URL); reason != "" {
			p.Add("url", reason)
		}
	}
	if c.Types != nil {
		for _, t := range *c.Types {
			if EventTypeProblem(string(t)) != "" {
				p.Add("types", "must contain only "+joinWords(EventTypes(), ", "))
			}
		}
	}
	return p
}

// apply returns a copy of the webhook with the change applied.
func (c WebhookChange) apply(hook Webhook) Webhook {
	if c.URL != nil {
		hook.URL = *c.URL
	}
	if c.Types != nil {
		hook.Types = canonicalTypes(*c.Types)
	}
	if c.Enabled != nil && *c.Enabled != hook.Enabled {
		hook.Enabled, hook.DisabledReason = *c.Enabled, ""
	}
	return hook
}

// UpdateWebhook changes a webhook. A webhook that is enabled again continues with the first event that it has
// not received. New types apply to every event that was not attempted yet. UpdateWebhook fails with not_found,
// precondition_failed or validation_failed.
func (s *Service) UpdateWebhook(ctx context.Context, by Caller, id int64, change WebhookChange, match Precondition[Webhook]) (Webhook, error) {
	if err := change.Problems().Err(); err != nil {
		return Webhook{}, err
	}
	// Publish earlier events first, so that firstWaiting finds them.
	if err := s.store.Publish(ctx); err != nil {
		return Webhook{}, err
	}
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (hook Webhook, err error) {
		before, err := existingWebhook(tx, id)
		if err == nil {
			err = match.check(before)
		}
		if err != nil {
			return Webhook{}, err
		}
		hook = change.apply(before)
		if hook.URL == before.URL && hook.Enabled == before.Enabled && slices.Equal(hook.Types, before.Types) {
			return before, nil
		}
		return s.changeWebhook(tx, before, hook)
	})
}

// changeWebhook stores a changed webhook. If the webhook was disabled or enabled, it also parks or resumes the webhook's
// deliveries.
func (s *Service) changeWebhook(tx *eventTx, before, hook Webhook) (Webhook, error) {
	now, err := tx.Now()
	if err != nil {
		return Webhook{}, err
	}
	newTypes := !slices.Equal(before.Types, hook.Types)
	if before.Enabled && (!hook.Enabled || newTypes) {
		if hook.Position, err = s.firstWaiting(tx, before); err != nil {
			return Webhook{}, err
		}
	}
	if newTypes {
		// A batch in flight has a position that follows from the old types. Without its lease, it cannot store it.
		hook.LeasedUntil = time.Time{}
	}
	switch {
	case before.Enabled && !hook.Enabled:
		err = tx.ParkDeliveries(hook.ID)
	case !before.Enabled && hook.Enabled:
		hook.forgetFailures()
		err = tx.ResumeDeliveries(hook.ID, now)
	}
	if err != nil {
		return Webhook{}, err
	}
	if hook.URL != before.URL {
		hook.forgetFailures() // no attempt to reach the new URL has failed yet
	}
	// UpdatedAt changes with every update, because it is the only visible effect of rotating the secret.
	hook.UpdatedAt = latest(now, before.UpdatedAt.Add(time.Microsecond))
	if err := tx.UpdateWebhook(before, hook); err != nil {
		return Webhook{}, err
	}
	return hook, tx.SetWebhookProgress(hook)
}

// firstWaiting returns the position just before the first event that the webhook wants and that was not attempted yet.
// It is called before the webhook is disabled or gets other types. Without it, a webhook with new types would receive
// old events that it did not want before, because its stored position may lag behind.
func (s *Service) firstWaiting(tx ReadTx, hook Webhook) (int64, error) {
	last, err := tx.LastEvent()
	if err != nil {
		return 0, err
	}
	for after, more := hook.Position, true; more; {
		next, err := s.events(tx, hook.events(), PageRequest{Limit: 1, After: &after})
		if err != nil {
			return 0, err
		}
		if len(next.Items) > 0 {
			return next.Items[0].position - 1, nil
		}
		if more = next.More; more {
			after = next.Next(Event.Position)
		}
	}
	return max(hook.Position, last), nil
}

// DeleteWebhook removes a webhook. It fails with not_found or precondition_failed.
func (s *Service) DeleteWebhook(ctx context.Context, by Caller, id int64, match Precondition[Webhook]) error {
	return s.writeOnly(ctx, Writing{By: by}, func(tx *eventTx) error {
		hook, err := existingWebhook(tx, id)
		if err == nil {
			err = match.check(hook)
		}
		if err != nil {
			return err
		}
		return tx.DeleteWebhook(hook)
	})
}

// maxWebhookSecrets is the maximum number of secrets that sign the messages to a webhook at the same time. Each of
// them adds a signature to the header of every message.
const maxWebhookSecrets = 10

// RotateWebhook gives a webhook a new secret. During the overlap, messages are also signed with the old secrets.
// RotateWebhook fails with not_found if the webhook does not exist, and with validation_failed if the overlap is out of
// range. It also fails with validation_failed if the overlap is not 0 and the webhook already has maxWebhookSecrets
// secrets.
func (s *Service) RotateWebhook(ctx context.Context, by Caller, id int64, overlap time.Duration) (IssuedWebhook, error) {
	if reason := OverlapProblem(overlap); reason != "" {
		return IssuedWebhook{}, Errorf(ValidationFailed, "The overlap %s.", reason)
	}
	secret := newWebhookSecret()
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (IssuedWebhook, error) {
		before, err := existingWebhook(tx, id)
		if err != nil {
			return IssuedWebhook{}, err
		}
		now, err := tx.Now()
		if err != nil {
			return IssuedWebhook{}, err
		}
		secrets, err := tx.WebhookSecrets([]int64{id}, now)
		if err != nil {
			return IssuedWebhook{}, err
		}
		if overlap > 0 && len(secrets[id]) >= maxWebhookSecrets {
			return IssuedWebhook{}, Errorf(ValidationFailed,
				"The webhook already has %d secrets; wait until an old one expires, or use an overlap of 0 to replace them all now.", len(secrets[id]))
		}
		if err := tx.ExpireWebhookSecrets(id, now, now.Add(overlap)); err != nil {
			return IssuedWebhook{}, err
		}
		if err := tx.InsertWebhookSecret(id, secret, now); err != nil {
			return IssuedWebhook{}, err
		}
		hook, err := s.changeWebhook(tx, before, before)
		return IssuedWebhook{hook, secret}, err
	})
}

// testEvent is the event type of messages that test a webhook. It never appears in the feed.
const testEvent EventType = "webhook.test"

// TestWebhook enqueues a test message to a webhook, even if the webhook is disabled. The message is sent once
// and never retried. TestWebhook fails with not_found if the webhook does not exist.
func (s *Service) TestWebhook(ctx context.Context, by Caller, id int64) (Delivery, error) {
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (Delivery, error) {
		hook, err := existingWebhook(tx, id)
		if err != nil {
			return Delivery{}, err
		}
		now, err := tx.Now()
		if err != nil {
			return Delivery{}, err
		}
		message := Event{
			SpecVersion: "1.0", ID: "test_" + strconv.FormatInt(now.UnixMicro(), 10), Source: s.source, Type: testEvent,
			Subject: hook.subject(), Time: now, DataContentType: "application/json", Actor: tx.actor,
			Data: eventData(hook, nil),
		}
		return tx.InsertDelivery(Delivery{
			WebhookID: id, MessageID: message.ID, EventType: testEvent, Status: DeliveryPending, CreatedAt: now,
			NextAttemptAt: now, Body: addTraceparent(encode(message), tx.traceparent),
		})
	})
}

// WebhookReader contains the methods of ReadTx that read webhooks.
type WebhookReader interface {
	// Webhook returns the webhook with the given id and whether it exists.
	Webhook(id int64) (Webhook, bool, error)
	// Webhooks returns at most page.Limit webhooks, sorted by descending id.
	Webhooks(page PageRequest) ([]Webhook, error)
	// WebhooksByID returns the webhooks with the given ids that exist, in no particular order.
	WebhooksByID(ids []int64) ([]Webhook, error)
	// WebhookStates returns all webhooks and whether they have stored deliveries that are due, sorted by ascending id.
	WebhookStates(now time.Time) ([]WebhookState, error)
	// WebhookSecrets returns, for each webhook, the secrets used to sign messages at the given time, newest
	// first.
	WebhookSecrets(ids []int64, now time.Time) (map[int64][]string, error)
}

// WebhookMutations contains the methods of Mutations that change webhooks.
type WebhookMutations interface {
	// InsertWebhook stores a webhook under a new id and returns the stored webhook. It ignores the ID
	// field of its argument. The new id is larger than every id assigned before.
	InsertWebhook(Webhook) (Webhook, error)
	// UpdateWebhook stores all fields of a webhook except its progress.
	UpdateWebhook(before, after Webhook) error
	// DeleteWebhook removes a webhook and its secrets. The webhook's deliveries are parked, and kept until
	// RemoveDeliveries removes them.
	DeleteWebhook(Webhook) error
}

// WebhookBookkeeping contains the methods of Bookkeeping that change the internal state of webhooks. A new
// secret needs no event of its own, because the event for the change to the webhook already reports it.
type WebhookBookkeeping interface {
	// LeaseWebhooks leases those of the given webhooks that no node holds at the time now, and returns their ids. A lease
	// that ends after until was stored while the clock was wrong, and does not count.
	LeaseWebhooks(ids []int64, now, until time.Time) ([]int64, error)
	// SetWebhookProgress stores the progress of a webhook and the time since which every attempt has failed.
	SetWebhookProgress(Webhook) error
	// InsertWebhookSecret adds a secret that is used to sign the webhook's messages from now on.
	InsertWebhookSecret(id int64, secret string, now time.Time) error
	// ExpireWebhookSecrets sets the expiry of every secret of a webhook to until, except for secrets that
	// expire earlier. It removes the secrets that have already expired.
	ExpireWebhookSecrets(id int64, now, until time.Time) error
}
