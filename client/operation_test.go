package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"animalstore/api"
	"animalstore/client"
	"animalstore/internal/shoptest"
)

// notCalled lists the operations in the API document that the client never calls.
var notCalled = []string{
	"getPet",                           // deprecated; the method GetPet calls its replacement
	"getOpenapiJson", "getOpenapiYaml", // used by code generators
	"receiveEvent", // sent by the service to webhooks; see VerifyWebhook
}

// story is one run over every operation of the client. Each step is named after the method that it is about
// and checks the result. The steps share one service, so an effect that happens twice shows in later steps.
type story struct {
	*testing.T
	s         *testService
	c         *client.Client
	lost, cut bool // whether the first response to every call is lost or cut

	dogs         client.Category
	zoe, rex     client.Pet
	first, order client.Order
	key          client.Key
	hook         client.Webhook
	test         client.Delivery
}

type step struct {
	method string
	take   func()
}

// Every method of the client works with the real service. If the network loses the first request of every
// call or the response to it, the results are the same, and every call takes effect exactly once.
func TestEveryOperation(t *testing.T) {
	for name, network := range map[string]struct {
		fault     fault
		lost, cut bool
	}{
		"on a good network":     {nil, false, false},
		"requests are lost":     {dropRequest, false, false},
		"responses are lost":    {dropResponse, true, false},
		"responses are cut":     {cutResponse, true, true},
		"a proxy is overloaded": {proxyError(503), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, s *testService) {
				y := &story{T: t, s: s, c: s.client(), lost: network.lost, cut: network.cut}
				var told []string
				for _, step := range slices.Concat(y.categories(), y.pets(), y.files(), y.orders(), y.keys(), y.webhooks(), y.events()) {
					s.injectPerCall(network.fault)
					step.take()
					told = append(told, step.method)
				}
				kind := reflect.TypeFor[*client.Client]()
				for method := range kind.Methods() {
					if !slices.Contains(told, method.Name) {
						t.Errorf("no step is about the method %s", method.Name)
					}
				}
				y.wantEveryOperationCalled()
				y.wantTypesComplete()
			})
		})
	}
}

// body returns the body of the service's response, bypassing the client and the network.
func (y *story) body(path string) []byte {
	r := httptest.NewRequestWithContext(y.Context(), "GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+shoptest.AdminKey)
	w := httptest.NewRecorder()
	y.s.api.ServeHTTP(w, r)
	return w.Body.Bytes()
}

// wantEveryOperationCalled checks the service's own metrics for the operations in the API document.
func (y *story) wantEveryOperationCalled() {
	all := func(pattern string, text []byte) (found []string) {
		for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			found = append(found, string(match[1]))
		}
		return found
	}
	documented := all(`operationId: (\w+)`, must(api.NewDocument())(y.T).YAML(nil))
	called := all(`requests_total\{operation="(\w+)"[^}]*\} [1-9]`, y.body("/metrics"))
	for _, operation := range documented {
		if slices.Contains(called, operation) == slices.Contains(notCalled, operation) {
			y.Errorf("operation %s is called: %v", operation, slices.Contains(called, operation))
		}
	}
	if len(documented) < 30 {
		y.Errorf("the API document has only %d operations", len(documented))
	}
}

// wantTypesComplete checks that the client's types have a field for everything that the service sends.
func (y *story) wantTypesComplete() {
	for path, into := range map[string]any{
		"/pets": new([]client.Pet), "/categories": new([]client.Category), "/store/orders": new([]client.Order),
		"/keys": new([]client.Key), "/store/inventory": new(client.Inventory),
		"/events": new([]client.Event), "/webhooks": new([]client.Webhook), "/webhooks/1/deliveries": new([]client.Delivery),
	} {
		decoder := json.NewDecoder(strings.NewReader(string(y.body("/v1" + path))))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil || reflect.ValueOf(into).Elem().Kind() == reflect.Slice && reflect.ValueOf(into).Elem().Len() == 0 {
			y.Errorf("%s: %v, %+v", path, err, into)
		}
	}
}

// wantSecret checks that a call returned a secret. If the response with the secret was lost, the call must
// say so, because the service shows a secret only once.
func (y *story) wantSecret(secret string, err error) {
	y.Helper()
	if y.lost && (secret != "" || !errors.Is(err, client.ErrSecretLost)) || !y.lost && (secret == "" || err != nil) {
		y.Errorf("got the secret %q and the error %v; the response was lost: %v", secret, err, y.lost)
	}
}

func (y *story) events() []step {
	c, ctx := y.c, y.Context()
	var all []client.Event
	var ids []string
	return []step{
		{"Events", func() {
			all = collect(y.T, c.Events(ctx, client.EventQuery{Limit: 15}))
			var happened []string
			for _, event := range all {
				ids = append(ids, event.ID)
				happened = append(happened, string(event.Type)+" "+event.Subject)
				if event.SpecVersion != "1.0" || event.Source == "" || event.Actor != "configured" && event.Actor != "system" ||
					event.DataContentType != "application/json" || event.Time.IsZero() {
					y.Errorf("got %+v", event)
				}
				y.wantDecoded(event)
			}
			if !slices.Equal(happened, everyEvent) { // an event that appears twice means that a call took effect twice
				y.Errorf("this happened:\n%s\nwant:\n%s", strings.Join(happened, "\n"), strings.Join(everyEvent, "\n"))
			}
		}},
		{"ListEvents", func() {
			filter := client.EventFilter{Types: []client.EventType{client.EventPetUpdated, client.EventPetDeleted}, Subject: fmt.Sprint("pets/", y.rex.ID)}
			page, next, err := c.ListEvents(ctx, client.EventQuery{EventFilter: filter, Limit: 2})
			if err != nil || len(page) != 2 || next != page[1].ID {
				y.Fatalf("got %+v, %q, %v", page, next, err)
			}
			before, after := y.rex, y.rex // the animal before and after its order was placed
			before.ETag, after.ETag, after.Status = "", "", client.PetPending
			current, previous, err := page[0].Pet()
			if err != nil || *current != after || *previous != before {
				y.Errorf("changed from %+v to %+v, %v", previous, current, err)
			}
			rest, end, err := c.ListEvents(ctx, client.EventQuery{EventFilter: filter, After: next})
			if err != nil || len(rest) != 3 || end != "" {
				y.Fatalf("got %+v, %q, %v", rest, end, err)
			}
			if current, previous, err := rest[2].Pet(); err != nil || current != nil || previous.ID != y.rex.ID || rest[2].Data.Current != nil {
				y.Errorf("deleted %+v to %+v, %v", previous, current, err)
			}
		}},
		{"LastEventID", func() { wantEqual(y.T, "last event", must(c.LastEventID(ctx))(y.T), ids[len(ids)-1]) }},
		{"Follow", func() {
			wantEqual(y.T, "all events", strings.Join(take(y.T, len(ids), c.Follow(ctx, "0", client.EventFilter{})), " "), strings.Join(ids, " "))
			y.s.injectPerCall(nil)
			orders := client.EventFilter{Types: []client.EventType{client.EventOrderPlaced, client.EventOrderDelivered}, Subject: fmt.Sprint("store/orders/", y.order.ID)}
			followed := c.Follow(ctx, "3", orders)
			for range 2 { // the sequence can be iterated more than once
				got := take(y.T, 2, followed)
				if i := slices.Index(ids, got[1]); i < 0 || all[i].Type != client.EventOrderDelivered {
					y.Errorf("followed %v", got)
				}
			}
		}},
	}
}

// wantDecoded checks that an event can be decoded as the kind of resource that it is about, and as no other.
func (y *story) wantDecoded(event client.Event) {
	current, previous := map[string]any{}, map[string]any{}
	var errs []error
	for kind, decode := range map[string]func() (any, any, error){
		"pet":      func() (any, any, error) { return erase(event.Pet()) },
		"category": func() (any, any, error) { return erase(event.Category()) },
		"order":    func() (any, any, error) { return erase(event.Order()) },
		"key":      func() (any, any, error) { return erase(event.Key()) },
		"webhook":  func() (any, any, error) { return erase(event.Webhook()) },
	} {
		now, before, err := decode()
		if current[kind], previous[kind] = now, before; err != nil {
			errs = append(errs, err)
		}
	}
	kind, change, _ := strings.Cut(string(event.Type), ".")
	created, deleted := change == "created" || change == "placed", change == "deleted" || change == "revoked"
	if len(errs) != 4 || (current[kind] == nil) != deleted || (previous[kind] == nil) != created {
		y.Errorf("%+v was decoded as %+v, before %+v: %v", event, current, previous, errs)
	}
	if text := fmt.Sprint(current, previous); strings.Contains(text, "whsec_") || strings.Contains(text, "ask_live_") {
		y.Errorf("the event shows a secret: %s", text)
	}
}

// erase turns pointers into values of any type. The result is nil if the pointer is.
func erase[T any](current, previous *T, err error) (a, b any, _ error) {
	if current != nil {
		a = *current
	}
	if previous != nil {
		b = *previous
	}
	return a, b, err
}

// everyEvent lists what happens in the story.
var everyEvent = strings.Split(strings.ReplaceAll(`category.created categories/1; category.created categories/-9223372036854775808;
category.deleted categories/1; category.created categories/9223372036854775807; pet.created pets/1;
category.created categories/0; pet.created pets/2; pet.updated pets/1;
category.created categories/9007199254740993; pet.updated pets/1; category.created categories/3;
pet.created pets/3; category.created categories/-2; pet.created pets/4; pet.created pets/5;
order.placed store/orders/1; pet.updated pets/2; order.cancelled store/orders/1; pet.updated pets/2;
order.placed store/orders/2; pet.updated pets/2; order.approved store/orders/2;
order.delivered store/orders/2; pet.updated pets/2; pet.deleted pets/2; pet.deleted pets/1;
key.created keys/1; key.rotated keys/1; key.created keys/2; key.revoked keys/1;
webhook.created webhooks/1; webhook.updated webhooks/1; webhook.updated webhooks/1;
webhook.updated webhooks/1; webhook.updated webhooks/1; webhook.updated webhooks/1;
webhook.created webhooks/2; webhook.deleted webhooks/2`, "\n", " "), "; ")
