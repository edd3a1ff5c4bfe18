package storeadmin

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// soundShop returns the address of a new database with a shop that has every kind of row and event.
func soundShop(t *testing.T, engine string) string { return filled(t, engine, "sound_shop", fillShop) }

// fillShop creates every kind of row and event by calling the methods of the shop.
func fillShop(t *testing.T, database string) {
	t.Helper()
	ctx, s := t.Context(), openShop(t, database)
	defer s.Store.Close()
	for i, name := range []string{"Rex", "ÄRGER", "猫 🐈‍⬛", "Mia", "Bo", "gone"} {
		s.AddPet(t, name, int64(i%2)-1, []shop.Status{shop.Available, ""}[i/5])
	}
	for pet := int64(2); pet <= 6; pet++ {
		change := shop.ProfileChange{
			Published: new(pet%2 == 1), Breeds: &[]string{"Beagle", "Boxer"}, Sex: new(shop.Male), Price: &shop.Price{Amount: "9.50", Currency: "EUR"},
			Traits: map[shop.Trait]shop.Answer{shop.Neutered: shop.Yes, shop.GoodWithCats: shop.No}, Tags: &[]string{"Friendly", "Köln"},
			BirthDate: new("2020-02-29"), Description: new("Two\nlines"), Microchip: new("276098106123456"), Notes: new("internal"),
		}
		must(s.UpdateProfile(ctx, shop.Caller{}, pet, change, nil))(t)
	}
	for _, pet := range []int64{5, 5, 6} {
		files := shop.PhotoFiles{}
		for i, size := range shop.PhotoSizes() {
			files[size] = bytes.Repeat([]byte{byte(pet), 0, 255}, 1000*(i+1))
		}
		photo := must(s.AddPhoto(ctx, shop.Caller{}, pet, shop.NewPhoto{Files: files, Width: 1600, Height: 1200}))(t)
		must(s.UpdatePhoto(ctx, shop.Caller{}, pet, photo.ID, shop.PhotoChange{Alt: new("Größe 🐕"), Position: new(int64(1))}, nil))(t)
	}
	for _, color := range []string{"red", ""} { // the profile is empty again
		must(s.UpdateProfile(ctx, shop.Caller{}, 1, shop.ProfileChange{Color: &color}, nil))(t)
	}
	for _, name := range []string{"Paws", "Happy Paws & Söhne"} {
		must(s.UpdateSettings(ctx, shop.Caller{}, shop.SettingsChange{
			Name: &name, Address: &[]string{"Road 1", "Town"}, TimeZone: new("Europe/Berlin"), Kind: new(shop.KindShelter),
			Window: shop.WindowChange{Introduction: new("Two\nlines"), EmbedOrigins: &[]string{"https://www.example.com"}},
		}, nil))(t)
	}
	noError(t, s.DeletePet(ctx, shop.Caller{}, 5, nil))
	must(s.RestorePet(ctx, shop.Caller{}, 5))(t)
	noError(t, s.DeletePet(ctx, shop.Caller{}, 6, nil))
	must(s.CreateCategory(ctx, shop.Caller{}, "Vögel"))(t)
	must(s.PutCategory(ctx, shop.Caller{}, shop.Category{ID: 50, Name: "for a while"}, shop.PutCondition{}))(t)
	noError(t, s.DeleteCategory(ctx, shop.Caller{}, 50, nil))
	must(s.PutCategory(ctx, shop.Caller{}, shop.Category{ID: 50, Name: "again"}, shop.PutCondition{}))(t)
	for pet := range int64(4) {
		must(s.PlaceOrder(ctx, shop.Caller{}, shop.NewOrder{PetID: pet + 1, Reference: "a-1", PickupDate: "2026-12-05", Customer: shop.Customer{Name: "Ann"}}))(t)
	}
	noError(t, s.EraseCustomer(ctx, shop.Caller{}, 2, nil))
	must(s.UpdateOrder(ctx, shop.Caller{}, 1, shop.OrderChange{Reference: new("b-2"), HoldExpiresAt: new(time.Now().Add(time.Hour))}, nil))(t)
	for order, steps := range map[int64][]shop.OrderStatus{2: {shop.Approved}, 3: {shop.Approved, shop.Delivered}, 4: {shop.Cancelled}} {
		for _, step := range steps {
			must(s.UpdateOrder(ctx, shop.Caller{}, order, shop.OrderChange{Status: new(step)}, nil))(t)
		}
	}
	for _, name := range []string{"admin", "partner", "lost"} {
		key := shop.NewKey{Name: name, Scopes: []shop.Scope{shop.Admin, shop.PetsRead}, ExpiresAt: time.Now().Add(time.Hour)}
		must(s.CreateKey(ctx, shop.Caller{}, key))(t)
	}
	must(s.RotateKey(ctx, shop.Caller{}, 2, time.Hour))(t)
	noError(t, s.RevokeKey(ctx, shop.Caller{}, 3))
	hook := must(s.CreateWebhook(ctx, shop.Caller{}, shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}}))(t)
	must(s.RotateWebhook(ctx, shop.Caller{}, hook.ID, time.Hour))(t)
	response := shop.StoredResponse{Status: 201, Body: []byte("{}")}
	repeat := &shop.IdempotentRequest{Key: "once", Response: func(any) shop.StoredResponse { return response }}
	must(s.CreatePet(ctx, shop.Caller{Request: repeat}, shop.NewPet{Name: "told", CategoryID: 1}))(t)
	noError(t, s.Store.Publish(ctx))
	shoptest.Deliver(t, s.Service, func(shop.Message) shop.Attempt { return shop.Attempt{At: time.Now(), Status: 204} })
	must(s.TestWebhook(ctx, shop.Caller{}, hook.ID))(t)
	noError(t, s.IndexSearch(ctx))
	noError(t, shoptest.FoldCounts(ctx, s.Store))
	noError(t, s.RevokeKey(ctx, shop.Caller{}, 2)) // the event about the revocation is not published yet
}

// everyRow returns the address of a new database with every kind of row, including unusual values.
func everyRow(t *testing.T, engine string) string { return filled(t, engine, "every_row", fillStore) }

// fillStore inserts every kind of row.
func fillStore(t *testing.T, database string) {
	t.Helper()
	with(t, database, func(tx shop.WriteTx) error {
		do := func(err error) { noError(t, err) }
		copyNow, newSecret := time.Date(2030, 1, 2, 3, 4, 5, 678901000, time.UTC), shop.HashSecret("new")
		do(tx.SetEnvironment(shop.Staging))
		for _, id := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			must(tx.EnsureCategories(id))(t)
		}
		do(tx.InsertCategories(shop.Category{ID: must(tx.AssignCategoryIDs(1))(t)[0], Name: "Vögel 🦜"}))
		gone := shop.Category{ID: must(tx.AssignCategoryIDs(1))(t)[0], Name: "gone"}
		do(tx.InsertCategories(gone))
		do(tx.DeleteCategory(gone))
		var pets []shop.Pet
		for i, name := range []string{"Rex", "ÄRGER", "猫 🐈‍⬛", "quote \" \\ '\ttab\nline", "", strings.Repeat("x", 10_000), "gone"} {
			pets = append(pets, must(tx.InsertPets(shop.NewPet{Name: name, CategoryID: []int64{math.MinInt64, math.MaxInt64, 0}[i%3],
				Status: []shop.Status{shop.Available, shop.Pending, shop.Sold, ""}[i%4]}))(t)...)
		}
		after := pets[0]
		after.Status = shop.Pending
		do(tx.UpdatePets(shop.PetUpdate{Before: pets[0], After: after}))
		var profiles []shop.ProfileUpdate
		for i, pet := range pets {
			if i%3 == 0 {
				profiles = append(profiles, shop.ProfileUpdate{Before: shop.Profile{Pet: pet}, After: shop.Profile{
					Pet: pet, Photos: []shop.Photo{{ID: int64(i + 1), Position: 1, Name: fmt.Sprint(i), Alt: "é", Width: 1, Height: 2, Bytes: 6, CreatedAt: copyNow}},
					Published: i > 0, Description: "quote \" \\ '\ttab\nline", Mixed: shop.No, Tags: []string{"é", "Z", "a"}, UpdatedAt: copyNow}})
			}
		}
		do(tx.UpdateProfiles(profiles...))
		for _, profile := range profiles {
			files := shop.PhotoFiles{shop.SmallPhoto: {0}, shop.MediumPhoto: {255, 0}, shop.LargePhoto: {1, 2, 3}}
			do(tx.InsertPhotoFiles(profile.After.Pet.ID, profile.After.Photos[0].Name, files))
		}
		do(tx.SetPhotoUsage(shop.PhotoUsage{Bytes: 18, LastID: 7}))
		do(tx.DeletePet(pets[len(pets)-1])) // the id of this newest pet must not be assigned again
		must(tx.InsertOrder(shop.Order{PetID: pets[0].ID, Status: shop.Placed, Reference: "Größe", PickupDate: "2026-12-05",
			Price: shop.Price{Amount: "1.50", Currency: "EUR"}, Customer: shop.Customer{Name: "Größe", Email: "a@b"}, CreatedAt: copyNow,
			UpdatedAt: copyNow, HoldExpiresAt: copyNow.Add(time.Hour)}))(t)
		for i, status := range []shop.OrderStatus{shop.Approved, shop.Delivered, shop.Cancelled, shop.Expired} {
			must(tx.InsertOrder(shop.Order{PetID: math.MaxInt64 - int64(i), Status: status, CreatedAt: copyNow, UpdatedAt: copyNow,
				LastChange: shop.StatusChange{At: copyNow, Before: shop.Placed, HoldExpiresAt: copyNow, PetStatusChanges: int64(i) - 1, IsUndo: i == 1}}))(t)
		}
		for _, key := range []shop.Key{
			{Name: "rotated", Scopes: []shop.Scope{shop.Admin, shop.PetsRead}, Hint: "wxyz", CreatedAt: copyNow},
			{Name: "expired", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: copyNow, ExpiresAt: copyNow.Add(-time.Hour)},
			{Name: "revoked", CreatedAt: copyNow},
		} {
			must(tx.InsertKey(key))(t)
		}
		do(tx.InsertSecret(1, shop.HashSecret("old")))
		do(tx.ExpireSecrets(1, copyNow, copyNow.Add(time.Hour)))
		do(tx.InsertSecret(1, newSecret))
		do(tx.InsertSecret(3, shop.HashSecret("lost")))
		do(tx.DeleteKey(shop.Key{ID: 3}))
		do(tx.SetKeyLastUsed(2, copyNow))
		do(tx.InsertSession(shop.Session{ID: shop.HashSecret("token"), Secret: newSecret, EndsAt: copyNow.Add(time.Hour)}))
		do(tx.InsertSession(shop.Session{ID: shop.HashSecret("phone"), Secret: newSecret, Device: "Safari on an iPhone", CreatedAt: copyNow,
			LastSeenAt: copyNow, EndsAt: copyNow.Add(time.Hour)}))
		do(tx.PutSignInLink(shop.SignInLink{ID: shop.HashSecret("link"), Secret: newSecret, EndsAt: copyNow.Add(time.Minute)}))
		for i, key := range []string{"a", "B", "b", "é", "z", "Z", "-", "_"} { // these keys are not in byte order
			response := shop.StoredResponse{Status: 201, Location: "/pets/ä", Tag: `"ä"`, Body: []byte("\x00\xff" + key)}
			record := shop.IdempotencyRecord{Fingerprint: newSecret, At: copyNow, StoredResponse: response}
			do(tx.PutIdempotencyRecord(int64(i%2)*math.MaxInt64, key, record))
		}
		empty := shop.StoredResponse{Status: 204, Body: []byte{}}
		do(tx.PutIdempotencyRecord(7, "no body", shop.IdempotencyRecord{At: copyNow, StoredResponse: empty}))
		for _, subject := range []string{"pets/1", "categories/ä"} {
			data := []byte(`{"current":"🐈","previous":null}`)
			do(tx.InsertEvents(shop.NewEvent{Type: shop.PetCreated, Subject: subject, Actor: "keys/1", Data: data}))
		}
		for _, types := range [][]shop.EventType{nil, {shop.PetCreated, shop.OrderPlaced}} {
			hook := must(tx.InsertWebhook(shop.Webhook{URL: "https://example.com/ä?b", Types: types, Enabled: types == nil,
				CreatedAt: copyNow, UpdatedAt: copyNow, DisabledReason: strings.Repeat("gone", len(types)), FailingSince: copyNow}))(t)
			hook.WebhookProgress = shop.WebhookProgress{Position: 1, LeasedUntil: copyNow, AcceptedAt: copyNow, Failures: []time.Time{copyNow, copyNow}, ProbeAt: copyNow}
			do(tx.SetWebhookProgress(hook))
			do(tx.InsertWebhookSecret(hook.ID, "whsec_old", copyNow))
			do(tx.ExpireWebhookSecrets(hook.ID, copyNow, copyNow.Add(time.Hour)))
			do(tx.InsertWebhookSecret(hook.ID, "whsec_new", copyNow.Add(time.Second)))
			must(tx.InsertDelivery(shop.Delivery{WebhookID: hook.ID, MessageID: "evt_1", EventID: "1", EventType: shop.PetCreated,
				Status: shop.DeliveryPending, CreatedAt: copyNow, NextAttemptAt: copyNow,
				Body: []byte("{}"), Attempts: []shop.Attempt{{At: copyNow, Status: 500, Response: "ä\x00"}}}))(t)
			do(tx.InsertDeliveries(shop.Delivery{WebhookID: hook.ID, MessageID: "evt_2", EventID: "2", EventType: shop.PetCreated,
				Status: shop.DeliverySucceeded, CreatedAt: copyNow}))
		}
		return nil
	})
}

// storeContents returns the inventory and all rows of a store.
func storeContents(t *testing.T, database string) (all []string) {
	t.Helper()
	with(t, database, func(tx shop.WriteTx) error {
		all = append(all, fmt.Sprintf("%+v", must(tx.Inventory())(t)))
		found := must(tx.SearchPets(shop.PetList{PageRequest: shop.PageRequest{Limit: 1000}, PetFilter: shop.PetFilter{Query: "ärg"}}))(t)
		all = append(all, fmt.Sprintf("%+v", found.Items))
		orders := must(tx.SearchOrders(shop.OrderList{PageRequest: shop.PageRequest{Limit: 1000}, Query: "gröss a@b", Customers: true}))(t)
		all = append(all, fmt.Sprintf("%+v", orders.Items))
		return nil
	})
	e := must(openEndpoint(t.Context(), database, sqlstore.Options{}))(t)
	defer e.close()
	for _, table := range copiedTables {
		row, targets := make([]any, len(table.columns)), []any{}
		for i := range row {
			targets = append(targets, &row[i])
		}
		query := "SELECT " + strings.Join(table.columnNames(), ", ") + " FROM " + table.name
		if table.name == "pet_periods" { // a server stores some of the counts in another table
			query = table.selection(e.engine)
		}
		noError(t, e.Each(t.Context(), query, func(scan sqlstore.Scanner) error {
			err := scan(targets...)
			all = append(all, fmt.Sprintf("%s %#v", table.name, row))
			return err
		}))
	}
	slices.Sort(all)
	return all
}

// nextIDs returns the ids that a store assigns to the next row of each kind.
func nextIDs(t *testing.T, database string) (next [6]int64) {
	t.Helper()
	with(t, database, func(tx shop.WriteTx) error {
		pet := must(tx.InsertPets(shop.NewPet{Name: "next"}))(t)[0].ID
		order := must(tx.InsertOrder(shop.Order{PetID: pet, Status: shop.Cancelled}))(t).ID
		key, category := must(tx.InsertKey(shop.Key{Name: "next"}))(t).ID, must(tx.AssignCategoryIDs(1))(t)[0]
		hook := must(tx.InsertWebhook(shop.Webhook{}))(t).ID
		next = [6]int64{pet, order, key, category, hook, must(tx.InsertDelivery(shop.Delivery{Status: shop.DeliveryPending}))(t).ID}
		return nil
	})
	return next
}
