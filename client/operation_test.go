package client_test

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"animalstore/api"
	"animalstore/client"
)

// notCalled lists the operations in the API document that the client never calls.
var notCalled = []string{
	"getPet",                           // deprecated; the method GetPet calls its replacement
	"getOpenapiJson", "getOpenapiYaml", // used by code generators
	"receiveEvent", // sent by the service to webhooks; see VerifyWebhook
}

// Every operation in the API document is called by a method of the client, and this test calls every method.
// The service's own metrics show which operations were called.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client()
	calls := map[string]func(context.Context){
		"ListPets":   func(ctx context.Context) { c.ListPets(ctx, client.PetQuery{}) },
		"Pets":       func(ctx context.Context) { c.Pets(ctx, client.PetQuery{})(stopAtFirst) },
		"GetPet":     func(ctx context.Context) { c.GetPet(ctx, 1) },
		"CreatePet":  func(ctx context.Context) { c.CreatePet(ctx, client.NewPet{Name: "Rex"}) },
		"UpdatePet":  func(ctx context.Context) { c.UpdatePet(ctx, 1, client.PetUpdate{}) },
		"DeletePet":  func(ctx context.Context) { c.DeletePet(ctx, 1) },
		"Inventory":  func(ctx context.Context) { c.Inventory(ctx) },
		"ImportPets": func(ctx context.Context) { c.ImportPets(ctx, []client.NewPet{{Name: "Mia"}}) },
		"ImportFile": func(ctx context.Context) { c.ImportFile(ctx, client.NDJSON, []byte("{}")) },
		"CheckFile":  func(ctx context.Context) { c.CheckFile(ctx, client.NDJSON, []byte("{}")) },
		"ExportFile": func(ctx context.Context) {
			c.ExportFile(ctx, client.CSV, io.Discard)
			c.ExportFile(ctx, client.NDJSON, io.Discard)
		},
		"Categories":     func(ctx context.Context) { c.Categories(ctx)(stopAtFirst) },
		"GetCategory":    func(ctx context.Context) { c.GetCategory(ctx, 1) },
		"PutCategory":    func(ctx context.Context) { c.PutCategory(ctx, 1, "Dogs") },
		"ListOrders":     func(ctx context.Context) { c.ListOrders(ctx, client.OrderQuery{}) },
		"Orders":         func(ctx context.Context) { c.Orders(ctx, client.OrderQuery{})(stopAtFirst) },
		"GetOrder":       func(ctx context.Context) { c.GetOrder(ctx, 1) },
		"PlaceOrder":     func(ctx context.Context) { c.PlaceOrder(ctx, client.NewOrder{PetID: 1}) },
		"ApproveOrder":   func(ctx context.Context) { c.ApproveOrder(ctx, 1) },
		"DeliverOrder":   func(ctx context.Context) { c.DeliverOrder(ctx, 1) },
		"CancelOrder":    func(ctx context.Context) { c.CancelOrder(ctx, 1) },
		"ListEvents":     func(ctx context.Context) { c.ListEvents(ctx, client.EventQuery{}) },
		"Events":         func(ctx context.Context) { c.Events(ctx, client.EventQuery{})(stopAtFirst) },
		"LastEventID":    func(ctx context.Context) { c.LastEventID(ctx) },
		"Keys":           func(ctx context.Context) { c.Keys(ctx)(stopAtFirst) },
		"CurrentKey":     func(ctx context.Context) { c.CurrentKey(ctx) },
		"RotateKey":      func(ctx context.Context) { c.RotateKey(ctx, 7, 0) },
		"RevokeKey":      func(ctx context.Context) { c.RevokeKey(ctx, 7) },
		"Webhooks":       func(ctx context.Context) { c.Webhooks(ctx)(stopAtFirst) },
		"GetWebhook":     func(ctx context.Context) { c.GetWebhook(ctx, 1) },
		"TestWebhook":    func(ctx context.Context) { c.TestWebhook(ctx, 1) },
		"Deliveries":     func(ctx context.Context) { c.Deliveries(ctx, 1, client.DeliveryQuery{})(stopAtFirst) },
		"Redeliver":      func(ctx context.Context) { c.Redeliver(ctx, 1, 1) },
		"CreateCategory": func(ctx context.Context) { c.CreateCategory(ctx, "Cats") },
		"DeleteCategory": func(ctx context.Context) { c.DeleteCategory(ctx, 9) },
		"CreateKey":      func(ctx context.Context) { c.CreateKey(ctx, client.NewKey{}) },
		"CreateWebhook":  func(ctx context.Context) { c.CreateWebhook(ctx, client.NewWebhook{}) },
		"UpdateWebhook":  func(ctx context.Context) { c.UpdateWebhook(ctx, 1, client.WebhookUpdate{}) },
		"DeleteWebhook":  func(ctx context.Context) { c.DeleteWebhook(ctx, 1) },
		"RotateWebhook":  func(ctx context.Context) { c.RotateWebhook(ctx, 1, 0) },
		"ListDeliveries": func(ctx context.Context) { c.ListDeliveries(ctx, 1, client.DeliveryQuery{}) },
		"Follow": func(ctx context.Context) {
			s.addPet("Rex")
			c.Follow(ctx, "0", client.EventFilter{})(stopAtFirst)
		},
	}
	kind := reflect.TypeFor[*client.Client]()
	for i := range kind.NumMethod() {
		name := kind.Method(i).Name
		if calls[name] == nil {
			t.Errorf("%s is not called in this test", name)
			continue
		}
		s.requests()
		calls[name](t.Context()) // only the request matters, not its result
		if len(s.requests()) == 0 {
			t.Errorf("%s sent nothing", name)
		}
		delete(calls, name)
	}
	for name := range calls {
		t.Errorf("the client has no method %s", name)
	}

	document, err := api.NewDocument()
	if err != nil {
		t.Fatal(err)
	}
	documented := all(regexp.MustCompile(`operationId: (\w+)`), document.YAML(nil))
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.url[:len(s.url)-len("/v1")]+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+adminKey)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	called := all(regexp.MustCompile(`requests_total\{operation="(\w+)"`), metrics)
	for _, operation := range documented {
		if slices.Contains(called, operation) == slices.Contains(notCalled, operation) {
			t.Errorf("operation %s is called: %v", operation, slices.Contains(called, operation))
		}
	}
	if len(documented) < 30 {
		t.Errorf("the API document has only %d operations", len(documented))
	}
}

// stopAtFirst ends an iteration at the first item.
func stopAtFirst[T any](T, error) bool { return false }

// all returns the text that the first group of a pattern captures in each match.
func all(pattern *regexp.Regexp, text []byte) (found []string) {
	for _, match := range pattern.FindAllSubmatch(text, -1) {
		found = append(found, string(match[1]))
	}
	return found
}
