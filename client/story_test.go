package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
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

	"github.com/google/go-cmp/cmp"

	"animalstore/api"
	"animalstore/client"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

var update = flag.Bool("update", false, "write testdata/story.txt")

// notCalled lists the operations in the API document that the client never calls.
var notCalled = []string{
	"getPet",                           // deprecated; the method GetPet calls its replacement
	"getOpenapiJson", "getOpenapiYaml", // used by code generators
	"receiveEvent", // sent by the service to webhooks; see VerifyWebhook
}

// story is one run over every operation of the client. Its transcript shows every call with its results. All
// calls share one service, so an effect that happens twice shows later.
type story struct {
	*testing.T
	s          *testService
	c          *client.Client
	fault      fault // what happens to the first request of every call
	lost, cut  bool  // whether the first response to every call is lost or cut
	start      time.Time
	called     map[string]bool
	transcript strings.Builder
}

// Every method of the client works with the real service. If the network loses the first request of every
// call or the response to it, the results are the same, and every call takes effect exactly once.
func TestEveryOperation(t *testing.T) {
	const golden = "testdata/story.txt"
	want := string(shoptest.Must(os.ReadFile(golden))(t))
	// If a response is lost, the retry cannot return the secret that was in it, and it finds what the first
	// attempt has created.
	ifLost := strings.NewReplacer("Secret:{secret}}\n", fmt.Sprintf("Secret:}\n\t%v\n", client.ErrSecretLost),
		"Created:0 Updated:0 Replayed:false", "Created:0 Updated:0 Replayed:false", "Replayed:false", "Replayed:true", "\ttrue\n", "\tfalse\n")
	for name, network := range map[string]*story{
		"on a good network":     {fault: passThrough},
		"requests are lost":     {fault: dropRequest},
		"responses are lost":    {fault: dropResponse, lost: true},
		"responses are cut":     {fault: cutResponse, lost: true, cut: true},
		"a proxy is overloaded": {fault: proxyError, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, s *testService) {
				y := network
				y.T, y.s, y.c, y.start, y.called = t, s, s.client(), time.Now(), map[string]bool{}
				want := slices.Collect(strings.Lines(want))
				if y.lost {
					want = slices.Collect(strings.Lines(ifLost.Replace(strings.Join(want, ""))))
				}
				var got []string
				for _, part := range []func(){y.pets, y.files, y.orders, y.keys, y.webhooks, y.events} {
					y.begin()
					part()
					got = slices.Collect(strings.Lines(y.transcript.String()))
					if diff := cmp.Diff(want[:min(len(got), len(want))], got); diff != "" && !*update {
						t.Fatalf("the transcript differs from %s, which -update writes: %s", golden, diff)
					}
				}
				if *update && !y.lost {
					shoptest.OK(t, os.WriteFile(golden, []byte(y.transcript.String()), 0o644))
				}
				wantEqual(t, "lines of the transcript", len(got), len(want))
				for method := range reflect.TypeFor[*client.Client]().Methods() {
					if !y.called[method.Name] {
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

// call calls a method of the client, writes its results to the transcript and returns the first one.
func (y *story) call(method string, args ...any) any {
	y.called[method] = true
	in := []reflect.Value{reflect.ValueOf(y.Context())}
	for _, arg := range args {
		in = append(in, reflect.ValueOf(arg))
	}
	fmt.Fprintln(&y.transcript, method)
	results := reflect.ValueOf(y.c).MethodByName(method).Call(in)
	for _, result := range results {
		if result.Kind() != reflect.Func {
			y.write(result.Interface())
			continue
		}
		for item, err := range result.Seq2() {
			y.write(item.Interface())
			y.write(err.Interface())
		}
	}
	return results[0].Interface()
}

var (
	timeText   = regexp.MustCompile(`(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.\d]*(Z| \+0000 UTC)`)
	secretText = regexp.MustCompile(`(ask_live|whsec)_[^}]+`)
	randomText = regexp.MustCompile(`request [a-z2-7]{26}|(Hint|MessageID|"hint"):[^ ,]+`)
)

// write writes one result to the transcript. It replaces what is random, and shows times as the time since
// the start of the story in units of five minutes.
func (y *story) write(result any) {
	text := fmt.Sprintf("%+v", result)
	switch r := result.(type) {
	case nil:
		return
	case string:
		text = fmt.Sprintf("%#q", r)
	case client.Order:
		if r.ETag != "" {
			r.ETag = "{etag}" // depends on the times
		}
		text = fmt.Sprintf("%+v", r)
	case client.Event:
		text = fmt.Sprintf("%s %s %s %s from %s to %s", r.ID, r.Actor, r.Type, r.Subject, r.Data.Previous, r.Data.Current)
	case []client.Event:
		for _, event := range r {
			y.write(event)
		}
		return
	}
	text = timeText.ReplaceAllStringFunc(text, func(text string) string {
		parts := timeText.FindStringSubmatch(text)
		at := shoptest.Must(time.Parse(time.DateTime, parts[1]+" "+parts[2]))(y.T)
		if at.IsZero() {
			return "never"
		}
		return "+" + at.Sub(y.start).Round(5*time.Minute).String()
	})
	text = randomText.ReplaceAllString(secretText.ReplaceAllString(text, "{secret}"), "{random}")
	fmt.Fprintf(&y.transcript, "\t%s\n", text)
}

// writeBody writes the body of the last request to the transcript.
func (y *story) writeBody() {
	sent := y.s.requests()
	y.write(sent[len(sent)-1].body)
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
	operations := regexp.MustCompile(`operationId: (\w+)`).FindAllSubmatch(shoptest.Must(api.NewDocument())(y.T).YAML(nil), -1)
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

func (y *story) pets() {
	y.call("CreateCategory", "Dogs & Co")
	y.call("PutCategory", int64(math.MinInt64), "Cats")
	y.call("PutCategory", int64(math.MinInt64), "Cats", client.IfMatch("*"))
	y.call("PutCategory", int64(math.MinInt64), "Dogs", client.IfAbsent())
	y.call("PutCategory", int64(math.MinInt64+1), "Birds", client.IfMatch("*"))
	y.call("GetCategory", int64(1))
	y.call("Categories")
	y.call("DeleteCategory", int64(1))
	y.call("GetCategory", int64(1))

	y.call("CreatePet", client.NewPet{Name: "Zoë <&> \u2028", CategoryID: math.MaxInt64})
	once := client.IdempotencyKey(` a"b\"c\ `) // identifies the call even across restarts
	rex := client.NewPet{Name: "Rex", CategoryID: 0, Status: client.PetAvailable}
	y.call("CreatePet", rex, once)
	y.call("CreatePet", rex, once)
	y.call("CreatePet", client.NewPet{Name: "Max"}, once)
	y.call("CreatePet", client.NewPet{Status: "asleep"})
	y.call("GetPet", int64(1))
	y.call("GetPet", int64(math.MaxInt64))
	y.call("UpdatePet", int64(1), client.PetUpdate{Status: new(client.PetSold)})
	category := new(int64(1<<53 + 1))
	y.call("UpdatePet", int64(1), client.PetUpdate{Name: new("ZOË & co"), CategoryID: category, Status: new(client.PetAvailable)})
	y.call("UpdatePet", int64(1), client.PetUpdate{})
	y.s.inject() // TestRetryAfterALostResponse covers conditional updates on other networks
	y.call("UpdatePet", int64(1), client.PetUpdate{Name: new("Bo")}, client.IfMatch(`"other"`))
	y.begin()

	_, next, err := y.c.ListPets(y.Context(), client.PetQuery{Limit: 1})
	shoptest.OK(y.T, err)
	for _, query := range []client.PetQuery{
		{}, {Status: client.PetSold}, {CategoryID: new(int64(0))}, {CategoryID: category}, {Text: "zoë"},
		{IDs: []int64{2, 1 << 60}}, {Limit: 1}, {Limit: 1, Cursor: next}, {Limit: 101},
	} {
		y.call("ListPets", query)
	}
	y.call("Pets", client.PetQuery{Status: client.PetAvailable})
	y.call("Pets", client.PetQuery{Limit: 1})
	y.call("Inventory")
}

func (y *story) files() {
	file := []byte("name;categoryId\nTom;3\n")
	y.call("CheckFile", client.CSV, file)
	y.call("CheckFile", client.CSV, []byte("name,categoryId\nTom,1\nTom,x\n"))
	y.call("CheckFile", client.NDJSON, []byte("name,categoryId\nTom,1\nTom,x\n"))
	y.call("CheckFile", client.CSV, []byte("id,name,categoryId\n1,Tom,3\n"))
	y.call("ImportFile", client.CSV, file)
	pet := shoptest.Must(y.c.GetPet(y.Context(), 2))(y.T)
	changes := []byte(fmt.Sprintf(`{"id":%d,"etag":%q,"name":"Rexi","categoryId":%d,"status":"AVAILABLE"}`+"\n"+`{"name":"Leo","category":"Lions"}`,
		pet.ID, pet.ETag, pet.CategoryID))
	y.call("CheckFile", client.NDJSON, changes, client.Upsert())
	y.call("ImportFile", client.NDJSON, changes, client.Upsert())
	y.call("ImportFile", client.NDJSON, changes, client.Upsert())
	y.call("ImportPets", []client.NewPet{{Name: "=1+1", CategoryID: 3, Status: client.PetSold}, {Name: "Mia", CategoryID: -2}})
	y.called["ExportFile"] = true
	for _, format := range []client.Format{client.CSV, client.NDJSON} {
		y.begin()
		var got strings.Builder
		n, err := y.c.ExportFile(y.Context(), format, &got)
		wantEqual(y.T, "bytes", n, int64(got.Len()))
		if y.cut { // an export that has begun is not repeated
			if !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 {
				y.Errorf("got %d bytes and %v from a cut export", n, err)
			}
			got.Reset()
			y.c.ExportFile(y.Context(), format, &got)
		}
		y.write(got.String())
	}
	y.begin()
}

func (y *story) orders() {
	const zoe, rex = int64(1), int64(2)
	y.call("PlaceOrder", client.NewOrder{PetID: rex, Reference: "web-17"})
	y.call("PlaceOrder", client.NewOrder{PetID: rex})
	y.call("UpdateOrder", int64(1), client.OrderUpdate{Reference: new("web-18"), HoldExpiresAt: new(time.Now().Add(time.Hour))})
	y.call("UpdateOrder", int64(1), client.OrderUpdate{Reference: new("")})
	y.s.inject() // TestRetryAfterALostResponse covers conditional updates on other networks
	y.call("UpdateOrder", int64(1), client.OrderUpdate{Reference: new("web-19")}, client.IfMatch(`"other"`))
	y.begin()
	y.call("CancelOrder", int64(1))
	y.call("PlaceOrder", client.NewOrder{PetID: rex})
	y.call("ApproveOrder", int64(2))
	y.call("GetPet", rex)
	y.call("DeliverOrder", int64(2))
	y.call("GetPet", rex)
	y.call("GetOrder", int64(2))
	_, next, err := y.c.ListOrders(y.Context(), client.OrderQuery{Limit: 1})
	shoptest.OK(y.T, err)
	y.call("ListOrders", client.OrderQuery{Status: client.OrderDelivered})
	y.call("ListOrders", client.OrderQuery{PetID: zoe})
	y.call("ListOrders", client.OrderQuery{PetID: rex, Limit: 1, Cursor: next})
	y.call("Orders", client.OrderQuery{Limit: 1})
	y.call("DeletePet", rex, client.IfMatch(`"other"`))
	y.call("DeletePet", rex, client.IfMatch(shoptest.Must(y.c.GetPet(y.Context(), rex))(y.T).ETag))
	y.call("RestorePet", rex)
	y.call("RestorePet", zoe)
	y.call("DeletePet", rex)
	y.call("DeletePet", zoe)
	y.call("Inventory")
}

func (y *story) keys() {
	website := client.NewKey{Name: "The website", Scopes: []client.Scope{client.ScopePetsRead, client.ScopeOrdersWrite}}
	website.ExpiresAt = time.Now().Add(time.Hour)
	first := y.call("CreateKey", website).(client.Key)
	rotated := y.call("RotateKey", first.ID, 1500*time.Millisecond).(client.Key)
	y.writeBody()
	wantEqual(y.T, "the secret is new", rotated.Secret != first.Secret, !y.lost)
	till := y.s.shop.Key(y.T, shop.PetsRead)
	y.call("Keys")
	y.call("RevokeKey", first.ID)
	y.call("Keys")
	admin := y.c
	y.c = y.s.clientWith(till.Secret, neverCut)
	y.call("CurrentKey")
	y.c = admin
}

func (y *story) webhooks() {
	ctx, types := y.Context(), []client.EventType{client.EventPetCreated, client.EventOrderPlaced}
	y.call("CreateWebhook", client.NewWebhook{URL: "https://partner.example/hook", Types: types})
	y.call("GetWebhook", int64(1))
	for _, update := range []client.WebhookUpdate{
		{Enabled: new(false)}, {Types: &[]client.EventType{client.EventPetCreated}},
		{Types: new([]client.EventType(nil)), Enabled: new(true)}, {URL: new("https://partner.example/other")},
	} {
		y.call("UpdateWebhook", int64(1), update)
		y.writeBody()
	}
	y.call("RotateWebhook", int64(1), 1500*time.Millisecond)
	y.writeBody()
	y.call("Webhooks")
	var test client.Delivery
	for _, attempt := range []shop.Attempt{
		{At: time.Now(), Duration: 70 * time.Millisecond, Status: 200, Response: "Thanks"},
		{At: time.Now(), Duration: time.Second, Error: "connection refused"},
	} {
		test = y.call("TestWebhook", int64(1)).(client.Delivery)
		for _, claim := range shoptest.Must(y.s.shop.ClaimDeliveries(ctx, shop.ClaimLimits{Total: 10, PerWebhook: 10}))(y.T) {
			shoptest.Must(y.s.shop.FinishAttempts(ctx, shop.AttemptResult{Claim: claim, Attempt: attempt}))(y.T)
		}
	}
	again := y.call("Redeliver", int64(1), test.ID).(client.Delivery)
	wantEqual(y.T, "message", again.MessageID, test.MessageID)
	y.call("Deliveries", int64(1), client.DeliveryQuery{Limit: 2})
	y.call("ListDeliveries", int64(1), client.DeliveryQuery{Status: client.DeliverySucceeded})
	other := shoptest.Must(y.s.shop.CreateWebhook(ctx, shop.NewWebhook{URL: "https://partner.example/other"}))(y.T)
	y.call("DeleteWebhook", other.ID)
	y.call("Webhooks")
}

func (y *story) events() {
	ctx := y.Context()
	y.call("Events", client.EventQuery{Limit: 15})
	var ids []string
	for _, event := range collect(y.T, y.c.Events(ctx, client.EventQuery{Limit: 15})) {
		ids = append(ids, event.ID)
		if event.SpecVersion != "1.0" || event.Source == "" || event.DataContentType != "application/json" || event.Time.IsZero() {
			y.Errorf("got %+v", event)
		}
		y.wantDecoded(event)
	}
	filter := client.EventFilter{Types: []client.EventType{client.EventPetUpdated, client.EventPetDeleted}, Subject: "pets/2"}
	y.call("ListEvents", client.EventQuery{EventFilter: filter, Limit: 2})
	y.call("ListEvents", client.EventQuery{EventFilter: filter, After: "19"}) // the next page
	y.call("ListEvents", client.EventQuery{EventFilter: client.EventFilter{Actor: "configured", Since: time.Unix(0, 0), Subject: "pets/2"}, Until: time.Unix(1<<33, 0), Limit: 1})
	y.call("LastEventID")
	y.called["Follow"] = true
	wantEqual(y.T, "followed", take(y.T, len(ids), y.c.Follow(ctx, "0", client.EventFilter{})), ids)
	y.s.inject()
	types := []client.EventType{client.EventOrderPlaced, client.EventOrderDelivered}
	orders := y.c.Follow(ctx, "3", client.EventFilter{Types: types, Subject: "store/orders/2"})
	for range 2 { // the sequence can be iterated more than once
		y.write(take(y.T, 2, orders))
	}
}

// wantDecoded checks that an event can be decoded as the kind of resource that it is about, and as no other.
func (y *story) wantDecoded(event client.Event) {
	kind, change, _ := strings.Cut(string(event.Type), ".")
	for _, method := range []string{"Pet", "Category", "Order", "Key", "Webhook"} {
		result := reflect.ValueOf(event).MethodByName(method).Call(nil)
		current, previous, err := result[0], result[1], result[2]
		created, deleted := change == "created" || change == "restored" || change == "placed", change == "deleted" || change == "revoked"
		matches := strings.ToLower(method) == kind
		if err.IsNil() != matches || matches && (current.IsNil() != deleted || previous.IsNil() != created) {
			y.Errorf("%+v was decoded by %s as %+v, before %+v: %v", event, method, current, previous, err)
		}
		for _, decoded := range []reflect.Value{previous, current} {
			if !decoded.IsNil() {
				y.write(decoded.Elem().Interface())
			}
		}
	}
	if text := slices.Concat(event.Data.Current, event.Data.Previous); secretText.Match(text) {
		y.Errorf("the event shows a secret: %s", text)
	}
}
