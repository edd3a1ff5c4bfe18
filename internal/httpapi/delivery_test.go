package httpapi

import (
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// deliver sends all messages that are due and records the given attempt for each of them.
func (s *testShop) deliver(t *testing.T, attempt shop.Attempt) {
	t.Helper()
	shoptest.Must(s.Service.LastEvent(t.Context()))(t) // assigns positions to the events
	shoptest.Deliver(t, s.Service, func(message shop.Message) shop.Attempt {
		schema := map[bool]string{false: "Event", true: "TestEvent"}[message.EventType == "webhook.test"]
		if err := s.checks.CheckSchema(schema, message.Body); err != nil {
			t.Errorf("a message does not match the OpenAPI document: %s: %v", message.Body, err)
		}
		attempt.At = s.Clock.Now().UTC().Truncate(time.Microsecond)
		return attempt
	})
}

// A delivery lists all of its attempts. A webhook shows the time since which its deliveries have been failing.
func TestDeliveryListsItsAttempts(t *testing.T) {
	s := parallelShop(t)
	s.do("POST", "/v1/webhooks", `{"url":"https://example.com/hook","types":["pet.created"]}`).want(t, 201, "") // causes event 1
	s.do("GET", "/v1/webhooks/1/deliveries", "").want(t, 200, "[]")
	s.add(`{"name":"Rex","categoryId":1}`) // causes events 2 and 3
	latest := func() shop.Delivery {
		return parsed[[]shop.Delivery](t, s.do("GET", "/v1/webhooks/1/deliveries", ""))[0]
	}
	s.deliver(t, shop.Attempt{Error: "there was no answer within 5s", Duration: 5 * time.Second})
	if got := latest(); got.ID != 1 || got.WebhookID != 1 || got.MessageID != "evt_3" || got.EventID != "3" ||
		got.EventType != shop.PetCreated || got.Status != shop.DeliveryPending || len(got.Attempts) != 1 ||
		got.Attempts[0].Millis != 5000 || got.Attempts[0].Status != 0 || got.NextAttemptAt.IsZero() {
		t.Errorf("after no response: %+v", got)
	}
	if since := s.do("GET", "/v1/webhooks/1", "").webhook(t).FailingSince; since.IsZero() {
		t.Error("the webhook is not shown as failing")
	}
	s.Clock.Forward(time.Minute)
	s.deliver(t, shop.Attempt{Status: 500, Response: "<oops>\u0000 & \"🐢\""})
	s.Clock.Forward(time.Hour)
	s.deliver(t, shop.Attempt{Status: 204})
	if got := latest(); got.Status != shop.DeliverySucceeded || len(got.Attempts) != 3 || got.Attempts[1].Status != 500 ||
		got.Attempts[2].Status != 204 || !got.NextAttemptAt.IsZero() {
		t.Errorf("after success: %+v", got)
	}
}

// A webhook can be tested, and a delivery can be sent again, even if the webhook is disabled. Both requests are
// accepted at once.
func TestDisabledWebhookCanBeTestedAndRedelivered(t *testing.T) {
	s := parallelShop(t)
	s.do("POST", "/v1/webhooks", example).want(t, 201, "")
	s.do("POST", "/v1/webhooks", example).want(t, 201, "")
	s.do("POST", "/v1/categories", `{"name":"Dogs"}`).want(t, 201, "") // causes event 3
	s.deliver(t, shop.Attempt{Status: 200})
	s.do("PATCH", "/v1/webhooks/1", `{"enabled":false}`).want(t, 200, "")
	test := s.do("POST", "/v1/webhooks/1/test", "").want(t, 202, "")
	if got := parsed[shop.Delivery](t, test); !strings.HasPrefix(got.MessageID, "test_") || got.EventID != "" ||
		got.EventType != "webhook.test" || got.Status != shop.DeliveryPending || len(got.Attempts) != 0 ||
		got.NextAttemptAt.IsZero() || got.WebhookID != 1 {
		t.Errorf("the test is %s", test.body)
	}
	again := s.do("POST", "/v1/webhooks/1/deliveries/1/redeliver", `{"unknown":true}`).want(t, 202, "") // the body is ignored
	if got := parsed[shop.Delivery](t, again); got.ID == 1 || got.MessageID != "evt_3" || got.EventID != "3" ||
		got.EventType != shop.CategoryCreated {
		t.Errorf("redelivered as %s", again.body)
	}
	for _, path := range []string{"1/deliveries/99", "1/deliveries/abc", "2/deliveries/1"} { // delivery 1 belongs to webhook 1
		s.do("POST", "/v1/webhooks/"+path+"/redeliver", "").wantError(t, 404, shop.NotFound)
	}
}
