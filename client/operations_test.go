package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"animalstore/api/apitest"
	"animalstore/client"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

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
	once := client.IdempotencyKey(` a"b\"c\ `) // the calls with this key create only one animal
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
	y.s.inject() // no faults here; TestRetryAfterALostResponse covers conditional updates with faults
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
		if y.cut { // an export is not retried after its first bytes have arrived
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
	y.call("UpdateOrder", int64(1), client.OrderUpdate{PickupDate: new("1999-04-05"), Price: &client.Price{Amount: "250.00", Currency: "EUR"}})
	y.call("ListOrders", client.OrderQuery{PickupDate: "1999-04-05"})
	y.call("UpdateOrder", int64(1), client.OrderUpdate{Reference: new(""), PickupDate: new(""), Price: &client.Price{}})
	y.call("UpdateOrder", int64(1), client.OrderUpdate{Customer: &client.CustomerUpdate{Name: new("Ann"), Phone: new("555"), Email: new("ann@example.com")}})
	y.call("UpdateOrder", int64(1), client.OrderUpdate{Customer: &client.CustomerUpdate{Phone: new("")}})
	y.call("ListOrders", client.OrderQuery{Text: "ann"})
	y.call("EraseCustomer", int64(1))
	y.s.inject() // no faults here; TestRetryAfterALostResponse covers conditional updates with faults
	y.call("EraseCustomer", int64(99), client.IfMatch("*"))
	y.call("UpdateOrder", int64(1), client.OrderUpdate{Reference: new("web-19")}, client.IfMatch(`"other"`))
	y.begin()
	y.call("CancelOrder", int64(1))
	y.call("UndoOrder", int64(1))
	y.call("UndoOrder", int64(1))
	y.call("CancelOrder", int64(1))
	y.call("PlaceOrder", client.NewOrder{PetID: rex, PickupDate: "1999-04-05", Price: &client.Price{}})
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

func (y *story) profiles() {
	pet := y.call("CreatePet", client.NewPet{Name: "Bo", CategoryID: 1}).(client.Pet).ID
	y.call("GetProfile", pet)
	y.call("UpdateProfile", pet, client.ProfileUpdate{
		Published: new(true), Description: new("Two\nlines"), Breeds: []string{"Beagle", "Boxer"}, Mixed: new(true), Sex: new(client.Male),
		BirthDate: new("1999-02-03"), BirthDateEstimated: new(false), Size: new(client.SizeSmall), Color: new("tan"),
		Price: &client.Price{Amount: "250.00", Currency: "EUR"}, ArrivalDate: new("1999-03-04"), Tags: []string{"Calm"},
		Traits:     &client.Traits{Neutered: new(true), GoodWithCats: new(false)},
		ContactURL: new("mailto:shop@example.com"), Microchip: new("276098106123456"), Location: new("Kennel 4"), Notes: new("shy"),
	})
	y.call("UpdateProfile", pet, client.ProfileUpdate{Color: new("red"), Remove: []string{"price", "notes"}})
	y.writeBody()
	y.call("UpdateProfile", pet, client.ProfileUpdate{Remove: []string{"published"}})
	y.call("GetProfile", int64(99))
	_, next, _ := y.c.ListProfiles(y.Context(), client.ProfileQuery{Limit: 1})
	y.call("ListProfiles", client.ProfileQuery{
		Sex: client.Male, Size: client.SizeSmall, Tags: []string{"calm"}, Published: new(true), Text: "beagle", CategoryID: new(int64(1)), IDs: []int64{pet},
	})
	y.call("ListProfiles", client.ProfileQuery{Limit: 1, Cursor: next})
	y.call("Profiles", client.ProfileQuery{Published: new(true)})
	y.call("DeletePet", pet)
	y.call("ListEvents", client.EventQuery{EventFilter: client.EventFilter{Types: []client.EventType{client.EventProfileUpdated}}, Limit: 2})
}

func (y *story) store() {
	y.call("GetStore")
	y.call("UpdateStore", client.StoreUpdate{
		Name: new("Paws"), Phone: new("1"), Email: new("a@b.example"), Address: []string{"Road", "Town"}, Website: new("https://example.com"),
		Currency: new("EUR"), TimeZone: new("Europe/Berlin"), Kind: new(client.KindShelter), Window: &client.WindowUpdate{
			Enabled: new(true), Title: new("Animals"), Introduction: new("Two\nlines"), EmbedOrigins: []string{"https://a.example"},
		},
	})
	y.call("UpdateStore", client.StoreUpdate{Name: new("Happy Paws"), Remove: []string{"phone", "window.title"}})
	y.writeBody()
	y.call("UpdateStore", client.StoreUpdate{Kind: new(client.StoreKind("zoo"))})
	y.call("ListEvents", client.EventQuery{EventFilter: client.EventFilter{Types: []client.EventType{client.EventStoreUpdated}}, Limit: 1})
}

func (y *story) photos() {
	pet := y.call("CreatePet", client.NewPet{Name: "Bo", CategoryID: 1}).(client.Pet).ID
	images := shoptest.Must(apitest.ExampleImages())(y.T)
	var cover client.Photo
	for _, name := range []string{"rex.jpg", "rex.png", "rex.webp"} {
		cover = y.call("AddPhoto", pet, []byte(images[name])).(client.Photo)
	}
	y.call("AddPhoto", pet, []byte("GIF89a"))
	y.call("AddPhoto", int64(99), []byte(images["rex.jpg"]))
	y.call("UpdatePhoto", pet, cover.ID, client.PhotoUpdate{Position: new(1), Alt: new("Bo & co")})
	y.call("UpdatePhoto", pet, cover.ID, client.PhotoUpdate{Alt: new("")})
	y.writeBody()
	y.call("UpdatePhoto", pet, cover.ID, client.PhotoUpdate{Position: new(0)})
	y.call("GetPhoto", pet, cover.ID)
	y.call("ListPhotos", pet)
	y.called["DownloadPhoto"] = true
	y.s.inject() // no faults here, because a download is not retried
	var file bytes.Buffer
	n := shoptest.Must(y.c.DownloadPhoto(y.Context(), cover.URLs.Small, &file))(y.T)
	wantEqual(y.T, "bytes", n, int64(file.Len()))
	wantEqual(y.T, "type", http.DetectContentType(file.Bytes()), "image/jpeg")
	y.begin()
	y.call("DeletePhoto", pet, cover.ID)
	y.s.inject()
	_, err := y.c.DownloadPhoto(y.Context(), cover.URLs.Small, &file)
	wantEqual(y.T, "not found", client.IsCode(err, client.CodeNotFound), true)
	y.begin()
	y.call("GetPhoto", pet, cover.ID)
	y.call("DeletePet", pet)
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
		shoptest.Deliver(y.T, y.s.shop.Service, func(shop.Message) shop.Attempt { return attempt })
	}
	again := y.call("Redeliver", int64(1), test.ID).(client.Delivery)
	wantEqual(y.T, "message", again.MessageID, test.MessageID)
	y.call("Deliveries", int64(1), client.DeliveryQuery{Limit: 2})
	y.call("ListDeliveries", int64(1), client.DeliveryQuery{Status: client.DeliverySucceeded})
	other := shoptest.Must(y.s.shop.CreateWebhook(ctx, shop.Caller{}, shop.NewWebhook{URL: "https://partner.example/other"}))(y.T)
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
	y.call("LatestEvents", client.EventQuery{EventFilter: filter}, 1)
	y.called["Follow"] = true
	wantEqual(y.T, "followed", take(y.T, len(ids), y.c.Follow(ctx, "0", client.EventFilter{})), ids)
	y.s.inject()
	types := []client.EventType{client.EventOrderPlaced, client.EventOrderDelivered}
	orders := y.c.Follow(ctx, "3", client.EventFilter{Types: types, Subject: "store/orders/2"})
	for range 2 { // the sequence can be iterated more than once
		y.write(take(y.T, 2, orders))
	}
}

// wantDecoded checks that an event can be decoded as the kind of resource that it is about, and as no other kind.
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
