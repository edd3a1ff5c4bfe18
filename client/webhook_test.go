package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/shop"
	"animalstore/internal/webhook"
)

// hookWithDeliveries creates a webhook that has one successful and one failed delivery.
func (s *testService) hookWithDeliveries() client.Webhook {
	s.t.Helper()
	ctx, c := s.t.Context(), s.client()
	hook := must(c.CreateWebhook(ctx, client.NewWebhook{URL: "https://partner.example/hook"}))(s.t)
	for _, attempt := range []shop.Attempt{
		{At: time.Now(), Duration: 70 * time.Millisecond, Status: 200, Response: "Thanks"},
		{At: time.Now(), Duration: time.Second, Error: "connection refused"},
	} {
		must(c.TestWebhook(ctx, hook.ID))(s.t)
		for _, claim := range must(s.service.ClaimDeliveries(ctx, hook.ID, 10))(s.t) {
			must(s.service.FinishAttempt(ctx, claim, attempt, 0))(s.t)
		}
	}
	return hook
}

func TestWebhookLifecycle(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	types := []client.EventType{client.EventPetCreated, client.EventOrderPlaced}
	hook := must(c.CreateWebhook(ctx, client.NewWebhook{URL: "https://partner.example/hook", Types: types}))(t)
	if hook.ID == 0 || !slices.Equal(hook.Types, types) || !hook.Enabled || hook.DisabledReason != "" || !hook.FailingSince.IsZero() ||
		time.Since(hook.CreatedAt) > time.Hour || hook.UpdatedAt.IsZero() {
		t.Fatalf("created %+v", hook)
	}
	must(client.VerifyWebhook(sign("evt_7", time.Now(), []byte(message), hook.Secret), []byte(message), hook.Secret))(t)
	if got := must(c.GetWebhook(ctx, hook.ID))(t); got.Secret != "" || got.URL != hook.URL {
		t.Errorf("got %+v", got)
	}

	for _, step := range []struct {
		update client.WebhookUpdate
		body   string
		types  []client.EventType
		on     bool
	}{
		{client.WebhookUpdate{Enabled: new(false)}, `{"enabled":false}`, types, false},
		{client.WebhookUpdate{Types: &[]client.EventType{client.EventPetCreated}}, `{"types":["pet.created"]}`, types[:1], false},
		{client.WebhookUpdate{Types: new([]client.EventType(nil)), Enabled: new(true)}, `{"types":null,"enabled":true}`, nil, true},
		{client.WebhookUpdate{URL: new("https://partner.example/other")}, `{"url":"https://partner.example/other"}`, nil, true},
	} {
		s.requests()
		got := must(c.UpdateWebhook(ctx, hook.ID, step.update))(t)
		if sent := s.requests()[0].body; sent != step.body || !slices.Equal(got.Types, step.types) || got.Enabled != step.on {
			t.Errorf("after %s it is %+v", sent, got)
		}
	}

	s.requests()
	rotated := must(c.RotateWebhook(ctx, hook.ID, 1500*time.Millisecond))(t)
	if sent := s.requests()[0].body; rotated.ID != hook.ID || rotated.Secret == "" || rotated.Secret == hook.Secret || sent != `{"overlapSeconds":2}` {
		t.Errorf("after %s rotated to %+v", sent, rotated)
	}
	other := must(c.CreateWebhook(ctx, client.NewWebhook{URL: "http://partner.example"}))(t)
	var ids []int64
	for hook, err := range c.Webhooks(ctx) {
		if must(hook, err)(t).Secret != "" {
			t.Error("the list reveals a secret")
		}
		ids = append(ids, hook.ID)
	}
	if !slices.Equal(ids, []int64{other.ID, hook.ID}) {
		t.Errorf("the webhooks are %v", ids)
	}
	if err := c.DeleteWebhook(ctx, other.ID); err != nil {
		t.Fatal(err)
	}
	for event, err := range c.Events(ctx, client.EventQuery{EventFilter: client.EventFilter{Types: []client.EventType{client.EventWebhookDeleted}}}) {
		if current, previous, err := must(event, err)(t).Webhook(); err != nil || current != nil || previous.ID != other.ID || previous.Secret != "" {
			t.Errorf("deleted %+v to %+v, %v", previous, current, err)
		}
	}
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx, hook := s.client(), t.Context(), s.hookWithDeliveries()
	first := must(c.TestWebhook(ctx, hook.ID))(t)
	if first.ID == 0 || first.WebhookID != hook.ID || first.MessageID == "" || first.EventID != "" || first.EventType != client.EventWebhookTest ||
		first.Status != client.DeliveryPending || len(first.Attempts) != 0 || first.NextAttemptAt.IsZero() || first.CreatedAt.IsZero() {
		t.Errorf("created %+v", first)
	}
	again := must(c.Redeliver(ctx, hook.ID, first.ID))(t)
	if again.ID == first.ID || again.MessageID != first.MessageID {
		t.Errorf("made %+v from %+v", again, first)
	}
	var statuses []client.DeliveryStatus
	for delivery, err := range c.Deliveries(ctx, hook.ID, client.DeliveryQuery{Limit: 3}) {
		statuses = append(statuses, must(delivery, err)(t).Status)
	}
	if !slices.Equal(statuses, []client.DeliveryStatus{client.DeliveryPending, client.DeliveryPending, client.DeliveryFailed, client.DeliverySucceeded}) {
		t.Errorf("the deliveries are %v", statuses)
	}
	for status, want := range map[client.DeliveryStatus]client.Attempt{
		client.DeliverySucceeded: {DurationMS: 70, Status: 200, Answer: "Thanks"},
		client.DeliveryFailed:    {DurationMS: 1000, Error: "connection refused"},
	} {
		page, next, err := c.ListDeliveries(ctx, hook.ID, client.DeliveryQuery{Status: status})
		if err != nil || len(page) != 1 || next != "" || len(page[0].Attempts) != 1 || !page[0].NextAttemptAt.IsZero() {
			t.Fatalf("%s: got %+v, %q, %v", status, page, next, err)
		}
		got := page[0].Attempts[0]
		if at := got.At; at.IsZero() {
			t.Errorf("%s: the time is missing", status)
		}
		if got.At = (time.Time{}); got != want {
			t.Errorf("%s: got %+v", status, got)
		}
	}
}

// VerifyWebhook and the official library both accept real messages from the service, including during a
// rotation.
func TestVerifyMessagesOfTheService(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	type sent struct {
		header http.Header
		body   []byte
	}
	received := make(chan sent, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		received <- sent{r.Header, body}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	dispatcher := webhook.New(webhook.Config{Service: s.service, AllowPrivate: true, Report: func(err error) { t.Error(err) }})
	running.Go(func() { dispatcher.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })

	c := s.client()
	hook := must(c.CreateWebhook(ctx, client.NewWebhook{URL: receiver.URL, Types: []client.EventType{client.EventPetCreated}}))(t)
	pet := s.addPet("Rex")
	got := <-received
	event := must(client.VerifyWebhook(got.header, got.body, hook.Secret))(t)
	if current, _, err := event.Pet(); err != nil || current.ID != pet.ID || got.header.Get("webhook-id") != "evt_"+event.ID {
		t.Errorf("got %+v, %v", event, err)
	}
	rotated := must(c.RotateWebhook(ctx, hook.ID, time.Hour))(t)
	must(c.TestWebhook(ctx, hook.ID))(t)
	got = <-received
	for _, secret := range []string{hook.Secret, rotated.Secret} {
		event := must(client.VerifyWebhook(got.header, got.body, secret))(t)
		if current, _, err := event.Webhook(); err != nil || current.ID != hook.ID || !officialVerify(t, got.header, got.body, secret) {
			t.Errorf("got %+v, %v", event, err)
		}
	}
	last := must(c.RotateWebhook(ctx, hook.ID, 0))(t)
	must(c.TestWebhook(ctx, hook.ID))(t)
	got = <-received
	must(client.VerifyWebhook(got.header, got.body, hook.Secret, last.Secret))(t)
	if _, err := client.VerifyWebhook(got.header, got.body, hook.Secret, rotated.Secret); !errors.Is(err, client.ErrWebhookSignature) {
		t.Errorf("with the old secrets: %v", err)
	}
}

func TestWebhookErrors(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	hook := must(c.CreateWebhook(ctx, client.NewWebhook{URL: "https://partner.example/hook"}))(t)
	_, notThere := c.GetWebhook(ctx, 99)
	_, notChanged := c.UpdateWebhook(ctx, 99, client.WebhookUpdate{})
	_, notRotated := c.RotateWebhook(ctx, 99, 0)
	_, notTested := c.TestWebhook(ctx, 99)
	_, _, notListed := c.ListDeliveries(ctx, 99, client.DeliveryQuery{})
	_, notSent := c.Redeliver(ctx, hook.ID, 99)
	for i, err := range []error{notThere, notChanged, notRotated, notTested, notListed, notSent, c.DeleteWebhook(ctx, 99)} {
		if !client.IsCode(err, client.CodeNotFound) {
			t.Errorf("%d: got %v", i, err)
		}
	}
	_, err := c.CreateWebhook(ctx, client.NewWebhook{URL: "partner.example", Types: []client.EventType{"x"}})
	wantCode(t, err, client.CodeValidationFailed)
	_, err = c.UpdateWebhook(ctx, hook.ID, client.WebhookUpdate{URL: new("")})
	wantCode(t, err, client.CodeValidationFailed)
	_, err = c.RotateWebhook(ctx, hook.ID, -time.Second)
	wantCode(t, err, client.CodeValidationFailed)
	key := must(c.CreateKey(ctx, client.NewKey{Name: "x", Scopes: []client.Scope{client.ScopeEventsRead}}))(t)
	_, err = s.clientWith(key.Secret).GetWebhook(ctx, hook.ID)
	wantCode(t, err, client.CodeInsufficientScope)
}

// On a faulty network, every webhook operation takes effect only once, and the client reports a lost secret.
func TestWebhooksOnAFaultyNetwork(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	s.inject(dropResponse)
	hook, err := c.CreateWebhook(ctx, client.NewWebhook{URL: "https://partner.example/hook"})
	if !errors.Is(err, client.ErrSecretLost) || hook.ID == 0 || hook.Secret != "" {
		t.Fatalf("got %+v, %v", hook, err)
	}
	s.inject(cutResponse)
	if _, err := c.RotateWebhook(ctx, hook.ID, 0); !errors.Is(err, client.ErrSecretLost) {
		t.Fatal(err)
	}
	if rotated := must(c.RotateWebhook(ctx, hook.ID, 0))(t); rotated.Secret == "" {
		t.Errorf("rotated to %+v", rotated)
	}
	s.inject(dropResponse)
	test := must(c.TestWebhook(ctx, hook.ID))(t)
	s.inject(cutResponse, dropResponse)
	again := must(c.Redeliver(ctx, hook.ID, test.ID))(t)
	var deliveries []string
	for delivery, err := range c.Deliveries(ctx, hook.ID, client.DeliveryQuery{}) {
		deliveries = append(deliveries, fmt.Sprint(must(delivery, err)(t).ID))
	}
	if want := []string{fmt.Sprint(again.ID), fmt.Sprint(test.ID)}; !slices.Equal(deliveries, want) {
		t.Errorf("the deliveries are %v, want %v", deliveries, want)
	}
	s.inject(dropResponse)
	if err := c.DeleteWebhook(ctx, hook.ID); err != nil {
		t.Error(err)
	}
	wantCode(t, c.DeleteWebhook(ctx, hook.ID), client.CodeNotFound)
}
