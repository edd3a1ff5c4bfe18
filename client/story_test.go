package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/api"
	"animalstore/client"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// notCalled lists the operations in the API document that the client never calls.
var notCalled = []string{
	"getPet",                           // deprecated; the method GetPet calls its replacement
	"getOpenapiJson", "getOpenapiYaml", // used by code generators
	"receiveEvent", // sent by the service to webhooks; see VerifyWebhook
}

// story is one run over every operation of the client, which checks their results. All calls share one
// service, so an effect that happens twice shows later.
type story struct {
	*testing.T
	s         *testService
	c         *client.Client
	fault     fault // what happens to the first request of every call
	lost, cut bool  // whether the first response to every call is lost or cut

	zoe, rex client.Pet
	order    client.Order
}

// Every method of the client works with the real service. If the network loses the first request of every
// call or the response to it, the results are the same, and every call takes effect exactly once.
func TestEveryOperation(t *testing.T) {
	source := string(must(os.ReadFile("story_test.go"))(t))
	for name, network := range map[string]story{
		"on a good network":     {fault: passThrough},
		"requests are lost":     {fault: dropRequest},
		"responses are lost":    {fault: dropResponse, lost: true},
		"responses are cut":     {fault: cutResponse, lost: true, cut: true},
		"a proxy is overloaded": {fault: proxyError, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, s *testService) {
				y := network
				y.T, y.s, y.c = t, s, s.client()
				for _, part := range []func(){y.categories, y.pets, y.files, y.orders, y.keys, y.webhooks, y.events} {
					y.begin()
					part()
				}
				for method := range reflect.TypeFor[*client.Client]().Methods() {
					if !strings.Contains(source, "c."+method.Name+"(ctx") {
						t.Errorf("the story does not call %s", method.Name)
					}
				}
				y.wantEveryOperationCalled()
				y.wantTypesComplete()
			})
		})
	}
}

// begin makes every call from here on need one retry.
func (y *story) begin() { y.s.injectAlways(y.fault, passThrough) }

// lastBody returns the body of the last request.
func (y *story) lastBody() string {
	sent := y.s.requests()
	return sent[len(sent)-1].body
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
	operations := regexp.MustCompile(`operationId: (\w+)`).FindAllSubmatch(must(api.NewDocument())(y.T).YAML(nil), -1)
	if len(operations) < 30 {
		y.Errorf("the API document has only %d operations", len(operations))
	}
	metrics := y.body("/metrics")
	for _, operation := range operations {
		name := string(operation[1])
		called := regexp.MustCompile(`requests_total\{operation="` + name + `"[^}]*\} [1-9]`).Match(metrics)
		wantEqual(y.T, name+" is called", called, !slices.Contains(notCalled, name))
	}
}

// wantTypesComplete checks that the client's types have a field for everything that the service sends.
func (y *story) wantTypesComplete() {
	for path, into := range map[string]any{
		"/pets": new([]client.Pet), "/categories": new([]client.Category), "/store/orders": new([]client.Order),
		"/keys": new([]client.Key), "/store/inventory": new(client.Inventory),
		"/events": new([]client.Event), "/webhooks": new([]client.Webhook), "/webhooks/1/deliveries": new([]client.Delivery),
	} {
		body := y.body("/v1" + path)
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil || len(body) < len(`[{"id":1}]`) {
			y.Errorf("%s: %v, %s", path, err, body)
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

func (y *story) categories() {
	c, t, ctx := y.c, y.T, y.Context()
	dogs, cats := client.Category{ID: 1, Name: "Dogs & Co"}, client.Category{ID: math.MinInt64, Name: "Cats"}
	wantEqual(t, "category", must(c.CreateCategory(ctx, dogs.Name))(t), dogs)
	for _, want := range []bool{!y.lost, false} { // the attempt whose response was lost has created the category
		got, created, err := c.PutCategory(ctx, cats.ID, cats.Name)
		if err != nil || created != want || got != cats {
			t.Errorf("put %+v, %v, %v, want created to be %v", got, created, err, want)
		}
	}
	wantEqual(t, "category", must(c.GetCategory(ctx, dogs.ID))(t), dogs)
	wantEqual(t, "categories", collect(t, c.Categories(ctx)), []client.Category{cats, dogs})
	wantOK(t, c.DeleteCategory(ctx, dogs.ID))
	_, err := c.GetCategory(ctx, dogs.ID)
	wantCode(t, err, client.CodeNotFound)
}

func (y *story) pets() {
	c, t, ctx := y.c, y.T, y.Context()
	y.zoe = must(c.CreatePet(ctx, client.NewPet{Name: "Zoë <&> \u2028", CategoryID: math.MaxInt64}))(t)
	if want := (client.Pet{ID: 1, Name: "Zoë <&> \u2028", CategoryID: math.MaxInt64, ETag: y.zoe.ETag}); y.zoe != want || want.ETag == "" {
		t.Errorf("created %+v, want %+v", y.zoe, want)
	}
	// A key that the program chooses identifies the call even across restarts.
	once, rex := client.IdempotencyKey(` a"b\"c\ `), client.NewPet{Name: "Rex", CategoryID: 0, Status: client.PetAvailable}
	y.rex = must(c.CreatePet(ctx, rex, once))(t)
	wantEqual(t, "the repeated call", must(c.CreatePet(ctx, rex, once))(t), y.rex)
	rex.Name = "Max"
	_, err := c.CreatePet(ctx, rex, once)
	wantCode(t, err, client.CodeIdempotencyKeyReused)
	_, err = c.CreatePet(ctx, client.NewPet{Status: "asleep"})
	wantCode(t, err, client.CodeValidationFailed)

	wantEqual(t, "animal", must(c.GetPet(ctx, y.zoe.ID))(t), y.zoe)
	_, err = c.GetPet(ctx, math.MaxInt64)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != client.CodeNotFound || e.Status != 404 || e.RequestID == "" ||
		e.Message != fmt.Sprintf("There is no animal with the id %d.", math.MaxInt64) {
		t.Errorf("got %+v", err)
	}

	for _, u := range []struct {
		update client.PetUpdate
		want   client.Pet
	}{
		{client.PetUpdate{Status: new(client.PetSold)}, client.Pet{Name: y.zoe.Name, CategoryID: math.MaxInt64, Status: client.PetSold}},
		{client.PetUpdate{Name: new("ZOË & co"), CategoryID: new(int64(1<<53 + 1)), Status: new(client.PetAvailable)},
			client.Pet{Name: "ZOË & co", CategoryID: 1<<53 + 1, Status: client.PetAvailable}},
		{client.PetUpdate{}, client.Pet{Name: "ZOË & co", CategoryID: 1<<53 + 1, Status: client.PetAvailable}},
	} {
		got := must(c.UpdatePet(ctx, y.zoe.ID, u.update))(t)
		wantEqual(t, "the ETag has changed", got.ETag != y.zoe.ETag, u.update != client.PetUpdate{})
		u.want.ID, u.want.ETag, y.zoe = y.zoe.ID, got.ETag, got
		wantEqual(t, "animal", got, u.want)
	}
	y.s.inject() // TestRetryAfterALostResponse covers conditional updates on other networks
	_, err = c.UpdatePet(ctx, y.zoe.ID, client.PetUpdate{Name: new("Bo")}, client.IfMatch(y.rex.ETag))
	wantCode(t, err, client.CodePreconditionFailed)

	y.begin()
	for _, q := range []struct {
		query client.PetQuery
		want  []int64
	}{
		{client.PetQuery{}, []int64{2, 1}},
		{client.PetQuery{Status: client.PetSold}, nil},
		{client.PetQuery{CategoryID: new(int64(0))}, []int64{2}},
		{client.PetQuery{CategoryID: new(int64(1<<53 + 1))}, []int64{1}},
		{client.PetQuery{Text: "zoë"}, []int64{1}},
		{client.PetQuery{IDs: []int64{2, 1 << 60}}, []int64{2}},
	} {
		pets, next, err := c.ListPets(ctx, q.query)
		if err != nil || next != "" || !slices.Equal(petIDs(pets), q.want) {
			t.Errorf("%+v: got %v, %q, %v, want %v", q.query, petIDs(pets), next, err, q.want)
		}
	}
	page, next, err := c.ListPets(ctx, client.PetQuery{Limit: 1})
	rest, end, err2 := c.ListPets(ctx, client.PetQuery{Limit: 1, Cursor: next})
	if got := petIDs(append(page, rest...)); !slices.Equal(got, []int64{2, 1}) || next == "" || end != "" || errors.Join(err, err2) != nil {
		t.Errorf("page by page: got %v, %q, %q, %v, %v", got, next, end, err, err2)
	}
	_, _, err = c.ListPets(ctx, client.PetQuery{Limit: 101})
	wantCode(t, err, client.CodeInvalidParameter)

	for _, limit := range []int{0, 1} {
		got := collect(t, c.Pets(ctx, client.PetQuery{Limit: limit, Status: client.PetAvailable}))
		wantEqual(t, "animals", petIDs(got), []int64{2, 1})
	}
	wantEqual(t, "inventory", must(c.Inventory(ctx))(t), client.Inventory{Available: 2})
}

func petIDs(pets []client.Pet) (ids []int64) {
	for _, pet := range pets {
		ids = append(ids, pet.ID)
	}
	return ids
}

func (y *story) files() {
	c, t, ctx := y.c, y.T, y.Context()
	file := []byte("name;categoryId\nTom;3\n")
	wantOK(t, c.CheckFile(ctx, client.CSV, file))
	for _, format := range []client.Format{client.CSV, client.NDJSON} {
		err := c.CheckFile(ctx, format, []byte("name,categoryId\nTom,1\nTom,x\n"))
		if wantCode(t, err, client.CodeValidationFailed); !strings.Contains(err.Error(), "line 3: ") {
			t.Error(err)
		}
	}
	wantEqual(t, "import", must(c.ImportFile(ctx, client.CSV, file))(t), client.Imported{Created: 1, Replayed: y.lost})
	pets := []client.NewPet{{Name: "=1+1", CategoryID: 3, Status: client.PetSold}, {Name: "Mia", CategoryID: -2}}
	wantEqual(t, "import", must(c.ImportPets(ctx, pets))(t), client.Imported{Created: 2, Replayed: y.lost})
	for format, want := range map[client.Format]string{
		client.CSV:    "3,Tom,3,\r\n4,'=1+1,3,sold\r\n5,Mia,-2,\r\n",
		client.NDJSON: `{"id":4,"name":"=1+1","categoryId":3,"status":"sold"}` + "\n" + `{"id":5,"name":"Mia","categoryId":-2}` + "\n",
	} {
		y.begin()
		var got strings.Builder
		n, err := c.ExportFile(ctx, format, &got)
		wantEqual(t, "bytes", n, int64(got.Len()))
		if y.cut { // an export that has begun is not repeated
			if !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 {
				t.Errorf("got %d bytes and %v from a cut export", n, err)
			}
		} else if err != nil || !strings.HasSuffix(got.String(), want) {
			t.Errorf("got %v, %q, want the end to be %q", err, got.String(), want)
		}
	}
}

func (y *story) orders() {
	c, t, ctx := y.c, y.T, y.Context()
	wantStatus := func(order client.Order, want client.OrderStatus, wantPet client.PetStatus) {
		t.Helper()
		wantEqual(t, "order", order.Status, want)
		wantEqual(t, "animal", must(c.GetPet(ctx, y.rex.ID))(t).Status, wantPet)
	}
	first := must(c.PlaceOrder(ctx, client.NewOrder{PetID: y.rex.ID, Reference: "web-17"}))(t)
	if first.ID != 1 || first.PetID != y.rex.ID || first.Reference != "web-17" || first.CreatedAt.IsZero() ||
		first.UpdatedAt != first.CreatedAt || !first.HoldExpiresAt.After(first.CreatedAt) {
		t.Errorf("placed %+v", first)
	}
	wantStatus(first, client.OrderPlaced, client.PetPending)
	_, err := c.PlaceOrder(ctx, client.NewOrder{PetID: y.rex.ID})
	wantCode(t, err, client.CodePetNotAvailable)
	first = must(c.CancelOrder(ctx, first.ID))(t)
	wantStatus(first, client.OrderCancelled, client.PetAvailable)
	wantEqual(t, "hold", first.HoldExpiresAt, time.Time{})
	y.order = must(c.PlaceOrder(ctx, client.NewOrder{PetID: y.rex.ID}))(t)
	wantStatus(must(c.ApproveOrder(ctx, y.order.ID))(t), client.OrderApproved, client.PetPending)
	y.order = must(c.DeliverOrder(ctx, y.order.ID))(t)
	wantStatus(y.order, client.OrderDelivered, client.PetSold)
	wantEqual(t, "order", must(c.GetOrder(ctx, y.order.ID))(t), y.order)

	next := ""
	for i, q := range []struct {
		query client.OrderQuery
		want  []client.Order
	}{
		{client.OrderQuery{Status: client.OrderDelivered}, []client.Order{y.order}},
		{client.OrderQuery{PetID: y.zoe.ID}, []client.Order{}},
		{client.OrderQuery{PetID: y.rex.ID, Limit: 1}, []client.Order{y.order}},
		{client.OrderQuery{PetID: y.rex.ID, Limit: 1}, []client.Order{first}}, // the next page
	} {
		q.query.Cursor = next
		orders, after, err := c.ListOrders(ctx, q.query)
		if wantEqual(t, "orders", orders, q.want); err != nil || (after != "") != (i == 2) {
			t.Errorf("%+v: got the cursor %q, %v", q.query, after, err)
		}
		next = after
	}
	wantEqual(t, "orders", collect(t, c.Orders(ctx, client.OrderQuery{Limit: 1})), []client.Order{y.order, first})
	wantCode(t, c.DeletePet(ctx, y.rex.ID, client.IfMatch(y.rex.ETag)), client.CodePreconditionFailed)
	wantOK(t, c.DeletePet(ctx, y.rex.ID, client.IfMatch(must(c.GetPet(ctx, y.rex.ID))(t).ETag)))
	wantOK(t, c.DeletePet(ctx, y.zoe.ID))
	wantEqual(t, "inventory", must(c.Inventory(ctx))(t), client.Inventory{Sold: 1, Unspecified: 2})
}

func (y *story) keys() {
	c, t, ctx := y.c, y.T, y.Context()
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	scopes := []client.Scope{client.ScopePetsRead, client.ScopeOrdersWrite}
	key, err := c.CreateKey(ctx, client.NewKey{Name: "The website", Scopes: scopes, ExpiresAt: expires})
	y.wantSecret(key.Secret, err)
	if key.ID != 1 || key.Name != "The website" || len(key.Scopes) != 2 || len(key.Hint) != 4 || !key.ExpiresAt.Equal(expires) ||
		!key.LastUsedAt.IsZero() || key.CreatedAt.IsZero() {
		t.Errorf("created %+v", key)
	}
	rotated, err := c.RotateKey(ctx, key.ID, 1500*time.Millisecond)
	wantEqual(t, "body", y.lastBody(), `{"overlapSeconds":2}`)
	y.wantSecret(rotated.Secret, err)
	if rotated.ID != key.ID || rotated.Secret == key.Secret && !y.lost {
		t.Errorf("rotated to %+v", rotated)
	}
	till := y.s.shop.Key(t, shop.PetsRead)
	if keys := collect(t, c.Keys(ctx)); len(keys) != 2 || keys[1].ID != key.ID || keys[0].Secret+keys[1].Secret != "" {
		t.Errorf("the keys are %+v", keys)
	}
	wantOK(t, c.RevokeKey(ctx, key.ID))
	wantEqual(t, "keys", len(collect(t, c.Keys(ctx))), 1)
	c = y.s.clientWith(till.Secret, func(int) int { return math.MaxInt })
	current := must(c.CurrentKey(ctx))(t)
	if current.ID != till.ID || current.Secret != "" || current.LastUsedAt.IsZero() || !current.ExpiresAt.IsZero() {
		t.Errorf("the current key is %+v", current)
	}
}

func (y *story) webhooks() {
	c, t, ctx := y.c, y.T, y.Context()
	types := []client.EventType{client.EventPetCreated, client.EventOrderPlaced}
	hook, err := c.CreateWebhook(ctx, client.NewWebhook{URL: "https://partner.example/hook", Types: types})
	y.wantSecret(hook.Secret, err)
	want := client.Webhook{ID: 1, URL: "https://partner.example/hook", Types: types, Enabled: true}
	want.CreatedAt, want.UpdatedAt, want.Secret = hook.CreatedAt, hook.UpdatedAt, hook.Secret
	if wantEqual(t, "webhook", hook, want); hook.CreatedAt.IsZero() || hook.UpdatedAt.IsZero() {
		t.Errorf("created %+v", hook)
	}
	want.Secret = ""
	wantEqual(t, "webhook", must(c.GetWebhook(ctx, hook.ID))(t), want)
	for _, u := range []struct {
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
		got := must(c.UpdateWebhook(ctx, hook.ID, u.update))(t)
		wantEqual(t, "body", y.lastBody(), u.body)
		if !slices.Equal(got.Types, u.types) || got.Enabled != u.on {
			t.Errorf("after %s it is %+v", u.body, got)
		}
	}
	rotated, err := c.RotateWebhook(ctx, hook.ID, 1500*time.Millisecond)
	wantEqual(t, "body", y.lastBody(), `{"overlapSeconds":2}`)
	y.wantSecret(rotated.Secret, err)
	if hooks := collect(t, c.Webhooks(ctx)); len(hooks) != 1 || hooks[0].ID != hook.ID || hooks[0].Secret != "" {
		t.Errorf("the webhooks are %+v", hooks)
	}

	var test client.Delivery
	for i, attempt := range []shop.Attempt{
		{At: time.Now(), Duration: 70 * time.Millisecond, Status: 200, Response: "Thanks"},
		{At: time.Now(), Duration: time.Second, Error: "connection refused"},
	} {
		y.begin()
		test = must(c.TestWebhook(ctx, hook.ID))(t)
		want := client.Delivery{ID: int64(i + 1), WebhookID: hook.ID, EventType: client.EventWebhookTest, Status: client.DeliveryPending, Attempts: []client.Attempt{}}
		want.MessageID, want.CreatedAt, want.NextAttemptAt = test.MessageID, test.CreatedAt, test.NextAttemptAt
		if wantEqual(t, "delivery", test, want); test.MessageID == "" || test.CreatedAt.IsZero() || test.NextAttemptAt.IsZero() {
			t.Errorf("created %+v", test)
		}
		for _, claim := range must(y.s.shop.ClaimDeliveries(ctx, hook.ID, 10))(t) {
			must(y.s.shop.FinishAttempt(ctx, claim, attempt, 0))(t)
		}
	}
	again := must(c.Redeliver(ctx, hook.ID, test.ID))(t)
	if again.ID != test.ID+1 || again.MessageID != test.MessageID {
		t.Errorf("made %+v from %+v", again, test)
	}
	var statuses []client.DeliveryStatus
	for _, delivery := range collect(t, c.Deliveries(ctx, hook.ID, client.DeliveryQuery{Limit: 2})) {
		statuses = append(statuses, delivery.Status)
	}
	wantEqual(t, "statuses", statuses, []client.DeliveryStatus{client.DeliveryPending, client.DeliveryFailed, client.DeliverySucceeded})
	for status, want := range map[client.DeliveryStatus]client.Attempt{
		client.DeliverySucceeded: {DurationMS: 70, Status: 200, Answer: "Thanks"},
		client.DeliveryFailed:    {DurationMS: 1000, Error: "connection refused"},
	} {
		page, next, err := c.ListDeliveries(ctx, hook.ID, client.DeliveryQuery{Status: status})
		if err != nil || len(page) != 1 || next != "" || len(page[0].Attempts) != 1 || !page[0].NextAttemptAt.IsZero() || page[0].Attempts[0].At.IsZero() {
			t.Fatalf("%s: got %+v, %q, %v", status, page, next, err)
		}
		want.At = page[0].Attempts[0].At
		wantEqual(t, "attempt", page[0].Attempts[0], want)
	}
	other := must(y.s.shop.CreateWebhook(ctx, shop.NewWebhook{URL: "https://partner.example/other"}))(t)
	wantOK(t, c.DeleteWebhook(ctx, other.ID))
	wantEqual(t, "webhooks", len(collect(t, c.Webhooks(ctx))), 1)
}

func (y *story) events() {
	c, t, ctx := y.c, y.T, y.Context()
	var ids, happened []string
	for _, event := range collect(t, c.Events(ctx, client.EventQuery{Limit: 15})) {
		ids = append(ids, event.ID)
		happened = append(happened, string(event.Type)+" "+event.Subject)
		if event.SpecVersion != "1.0" || event.Source == "" || event.Actor != "configured" && event.Actor != "system" ||
			event.DataContentType != "application/json" || event.Time.IsZero() {
			t.Errorf("got %+v", event)
		}
		y.wantDecoded(event)
	}
	wantEqual(t, "events", happened, everyEvent) // an event that appears twice means that a call took effect twice

	filter := client.EventFilter{Types: []client.EventType{client.EventPetUpdated, client.EventPetDeleted}, Subject: fmt.Sprint("pets/", y.rex.ID)}
	page, next, err := c.ListEvents(ctx, client.EventQuery{EventFilter: filter, Limit: 2})
	rest, end, err2 := c.ListEvents(ctx, client.EventQuery{EventFilter: filter, After: next})
	if errors.Join(err, err2) != nil || len(page) != 2 || next != page[1].ID || len(rest) != 3 || end != "" {
		t.Fatalf("got %+v, %q, %+v, %q, %v, %v", page, next, rest, end, err, err2)
	}
	before, after := y.rex, y.rex // the animal before and after its order was placed
	before.ETag, after.ETag, after.Status = "", "", client.PetPending
	if current, previous, err := page[0].Pet(); err != nil || *current != after || *previous != before {
		t.Errorf("changed from %+v to %+v, %v", previous, current, err)
	}
	if current, previous, err := rest[2].Pet(); err != nil || current != nil || previous.ID != y.rex.ID || rest[2].Data.Current != nil {
		t.Errorf("deleted %+v to %+v, %v", previous, current, err)
	}

	wantEqual(t, "last event", must(c.LastEventID(ctx))(t), ids[len(ids)-1])
	wantEqual(t, "followed", take(t, len(ids), c.Follow(ctx, "0", client.EventFilter{})), ids)
	y.s.inject()
	filter = client.EventFilter{Types: []client.EventType{client.EventOrderPlaced, client.EventOrderDelivered}, Subject: fmt.Sprint("store/orders/", y.order.ID)}
	placed, delivered := slices.Index(everyEvent, "order.placed store/orders/2"), slices.Index(everyEvent, "order.delivered store/orders/2")
	followed := c.Follow(ctx, "3", filter)
	for range 2 { // the sequence can be iterated more than once
		wantEqual(t, "followed", take(t, 2, followed), []string{ids[placed], ids[delivered]})
	}
}

// wantDecoded checks that an event can be decoded as the kind of resource that it is about, and as no other.
func (y *story) wantDecoded(event client.Event) {
	kind, change, _ := strings.Cut(string(event.Type), ".")
	for _, method := range []string{"Pet", "Category", "Order", "Key", "Webhook"} {
		result := reflect.ValueOf(event).MethodByName(method).Call(nil)
		current, previous, err := result[0], result[1], result[2]
		created, deleted := change == "created" || change == "placed", change == "deleted" || change == "revoked"
		if matches := strings.ToLower(method) == kind; err.IsNil() != matches || matches && (current.IsNil() != deleted || previous.IsNil() != created) {
			y.Errorf("%+v was decoded by %s as %+v, before %+v: %v", event, method, current, previous, err)
		}
	}
	if text := string(event.Data.Current) + string(event.Data.Previous); strings.Contains(text, "whsec_") || strings.Contains(text, "ask_live_") {
		y.Errorf("the event shows a secret: %s", text)
	}
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
