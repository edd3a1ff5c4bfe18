package shop

import (
	"context"
	"slices"
	"time"
)

// ClaimDuration is how long a claim lasts. After that, another node may claim the delivery. It is twice the timeout
// for an attempt. It is not longer, because the deliveries claimed by a node that crashes cannot be sent until their
// claims end.
const ClaimDuration = 30 * time.Second

// Claim gives one node the exclusive right to attempt a delivery until the time in the field ClaimedUntil.
type Claim struct {
	Delivery
	URL     string
	Secrets []string // the secrets used to sign the message, newest first
	Failing bool     // every recent attempt to send to the webhook has failed
	// Traceparent is the W3C traceparent of the request that caused the event, or "" if the request was not traced.
	Traceparent string
}

// ClaimLimits limits how many deliveries ClaimDeliveries claims.
type ClaimLimits struct {
	Total      int           // the maximum number of deliveries to claim
	Failing    int           // the maximum number of deliveries to failing webhooks
	PerWebhook int           // the maximum number of deliveries to one webhook, including those in flight
	InFlight   map[int64]int // the number of attempts in flight, by webhook
}

// ClaimDeliveries claims deliveries that are due. If an attempt has not finished when its claim ends, another node
// may claim the delivery. If more deliveries are due than the limits allow, each webhook gets an equal share.
func (s *Service) ClaimDeliveries(ctx context.Context, limits ClaimLimits) ([]Claim, error) {
	due, err := read(ctx, s, Reading{}, func(tx ReadTx) ([]DueWebhook, error) {
		now, err := tx.Now()
		if err != nil {
			return nil, err
		}
		return s.dueLooks.look(tx, now)
	})
	if err != nil {
		return nil, err
	}
	failing, healthy := limits.admit(due)
	if len(failing)+len(healthy) == 0 {
		return nil, nil
	}
	var claims []Claim
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		claims = nil
		if err := tx.EndWhenIdle(); err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		first, err := limits.take(tx, failing, min(limits.Failing, limits.Total), now)
		if err != nil {
			return err
		}
		rest, err := limits.take(tx, healthy, limits.Total-len(first), now)
		if err != nil {
			return err
		}
		claims, err = claimAll(tx, append(first, rest...), now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// admit selects the due webhooks that may have more deliveries in flight. It returns failing and healthy webhooks
// separately.
func (l ClaimLimits) admit(due []DueWebhook) (failing, healthy []DueWebhook) {
	for _, hook := range due {
		switch {
		case hook.Since.IsZero() || l.InFlight[hook.ID] >= l.PerWebhook:
		case hook.Failing && len(failing) < min(l.Failing, l.Total):
			failing = append(failing, hook)
		case !hook.Failing && len(healthy) < l.Total:
			healthy = append(healthy, hook)
		}
	}
	return failing, healthy
}

// take returns at most total due deliveries. If more are due, each webhook gets an equal share.
func (l ClaimLimits) take(tx BookkeepingTx, webhooks []DueWebhook, total int, now time.Time) (taken []Delivery, err error) {
	webhooks = webhooks[:min(len(webhooks), total)]
	if len(webhooks) == 0 {
		return nil, nil
	}
	due, err := tx.DueDeliveries(webhooks, now, min(total/len(webhooks), l.PerWebhook))
	if err != nil {
		return nil, err
	}
	count := map[int64]int{}
	for _, delivery := range due {
		if id := delivery.WebhookID; l.InFlight[id]+count[id] < l.PerWebhook {
			count[id]++
			taken = append(taken, delivery)
		}
	}
	return taken, nil
}

// claimAll claims deliveries and adds the URL, the secrets and the traceparent that are needed to send them.
func claimAll(tx BookkeepingTx, deliveries []Delivery, now time.Time) (claims []Claim, err error) {
	var ids, webhookIDs []int64
	for _, delivery := range deliveries {
		ids, webhookIDs = append(ids, delivery.ID), append(webhookIDs, delivery.WebhookID)
	}
	slices.Sort(webhookIDs)
	webhookIDs = slices.Compact(webhookIDs)
	stored, err := tx.WebhooksByID(webhookIDs)
	if err != nil {
		return nil, err
	}
	secrets, err := tx.WebhookSecrets(webhookIDs, now)
	if err != nil {
		return nil, err
	}
	hooks := webhooksByID(stored)
	until := now.Add(ClaimDuration)
	for _, delivery := range deliveries {
		delivery.ClaimedUntil = until
		hook := hooks[delivery.WebhookID]
		claim := Claim{Delivery: delivery, URL: hook.URL, Secrets: secrets[hook.ID], Failing: !hook.FailingSince.IsZero()}
		claim.Body, claim.Traceparent = cutTraceparent(delivery.Body)
		claims = append(claims, claim)
	}
	slices.Sort(ids)
	return claims, tx.ClaimDeliveries(ids, until)
}

func webhooksByID(hooks []Webhook) map[int64]Webhook {
	byID := make(map[int64]Webhook, len(hooks))
	for _, hook := range hooks {
		byID[hook.ID] = hook
	}
	return byID
}
