package storeadmin

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// soundShop returns the address of a new database with a shop that has every kind of row and event.
func soundShop(t *testing.T, engine string) string {
	t.Helper()
	return filled(t, engine, "sound_shop", fillShop)
}

// fillShop calls the shop to create every kind of row and event.
func fillShop(t *testing.T, database string) {
	t.Helper()
	ctx := t.Context()
	s, err := shoptest.OpenAt(ctx, database, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Store.Close()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"Rex", "ÄRGER", "猫 🐈‍⬛", "Mia", "Bo", "gone"} {
		_, err := s.CreatePet(ctx, shop.NewPet{Name: name, CategoryID: int64(i%2) - 1, Status: []shop.Status{shop.Available, ""}[i/5]})
		do(err)
	}
	do(s.DeletePet(ctx, 6, nil))
	_, err = s.CreateCategory(ctx, "Vögel")
	do(err)
	_, err = s.PutCategory(ctx, shop.Category{ID: 50, Name: "for a while"}, nil)
	do(err)
	do(s.DeleteCategory(ctx, 50, nil))
	_, err = s.PutCategory(ctx, shop.Category{ID: 50, Name: "again"}, nil)
	do(err)
	for pet := range int64(4) {
		_, err := s.PlaceOrder(ctx, shop.NewOrder{PetID: pet + 1, Reference: "a-1"})
		do(err)
	}
	for order, steps := range map[int64][]shop.OrderStatus{2: {shop.Approved}, 3: {shop.Approved, shop.Delivered}, 4: {shop.Cancelled}} {
		for _, step := range steps {
			_, err := s.UpdateOrder(ctx, order, step, nil)
			do(err)
		}
	}
	for _, name := range []string{"admin", "partner", "lost"} {
		_, err := s.CreateKey(ctx, shop.NewKey{Name: name, Scopes: []shop.Scope{shop.Admin, shop.PetsRead}, ExpiresAt: time.Now().Add(time.Hour)})
		do(err)
	}
	_, err = s.RotateKey(ctx, 2, time.Hour)
	do(err)
	do(s.RevokeKey(ctx, 3))
	hook, err := s.CreateWebhook(ctx, shop.NewWebhook{URL: "https://example.com/hook", Types: []shop.EventType{shop.PetCreated}})
	do(err)
	_, err = s.RotateWebhook(ctx, hook.ID, time.Hour)
	do(err)
	repeat := &shop.IdempotentRequest{Key: "once", Response: func(any) shop.StoredResponse { return shop.StoredResponse{Status: 201, Body: []byte("{}")} }}
	_, err = s.CreatePet(shop.WithIdempotency(ctx, repeat), shop.NewPet{Name: "told", CategoryID: 1})
	do(err)
	do(s.Store.Publish(ctx))
	_, err = s.FanOut(ctx, hook.Webhook, hook.Position)
	do(err)
	claims, err := s.ClaimDeliveries(ctx, hook.ID, 8)
	do(err)
	for _, claim := range claims {
		_, err := s.FinishAttempt(ctx, claim, shop.Attempt{At: time.Now(), Status: 204}, 0)
		do(err)
	}
	_, err = s.TestWebhook(ctx, hook.ID)
	do(err)
	do(s.RevokeKey(ctx, 2)) // the last event is not published yet
}

// everyRow returns the address of a new database with every kind of row, including unusual values.
func everyRow(t *testing.T, engine string) string {
	t.Helper()
	return filled(t, engine, "every_row", fillStore)
}

var (
	copyNow    = time.Date(2030, 1, 2, 3, 4, 5, 678901000, time.UTC)
	oldSecret  = shop.HashSecret("old")
	newSecret  = shop.HashSecret("new")
	lostSecret = shop.HashSecret("lost")
	// The alphabetical order of keptKeys differs from their byte order.
	keptKeys = []string{"a", "B", "b", "é", "z", "Z", "-", "_"}
)

// fillStore inserts every kind of row.
func fillStore(t *testing.T, database string) {
	t.Helper()
	with(t, database, func(tx shop.WriteTx) error {
		steps := []error{tx.SetEnvironment(shop.Staging)}
		do := func(err error) { steps = append(steps, err) }
		for _, id := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			_, err := tx.EnsureCategories(id)
			do(err)
		}
		assigned, err := tx.AssignCategoryID()
		do(err)
		do(tx.InsertCategory(shop.Category{ID: assigned, Name: "Vögel 🦜"}))
		gone, err := tx.AssignCategoryID()
		do(err)
		do(tx.InsertCategory(shop.Category{ID: gone, Name: "gone"}))
		do(tx.DeleteCategory(shop.Category{ID: gone}))
		var pets []shop.Pet
		for i, name := range []string{"Rex", "ÄRGER", "猫 🐈‍⬛", `quote " \ '`, "tab\there\nline", "", strings.Repeat("x", 10_000)} {
			added, err := tx.InsertPets(shop.NewPet{Name: name, CategoryID: []int64{math.MinInt64, math.MaxInt64, 0}[i%3],
				Status: []shop.Status{shop.Available, shop.Pending, shop.Sold, ""}[i%4]})
			do(err)
			pets = append(pets, added...)
		}
		after := pets[0]
		after.Status = shop.Pending
		do(tx.UpdatePet(pets[0], after))
		do(tx.DeletePet(pets[len(pets)-1])) // the id of this newest pet must not be assigned again
		_, err = tx.InsertOrder(shop.Order{PetID: pets[0].ID, Status: shop.Placed, Reference: "Größe", CreatedAt: copyNow,
			UpdatedAt: copyNow, HoldExpiresAt: copyNow.Add(time.Hour)})
		do(err)
		for i, status := range []shop.OrderStatus{shop.Approved, shop.Delivered, shop.Cancelled, shop.Expired} {
			_, err := tx.InsertOrder(shop.Order{PetID: int64(i) + math.MaxInt64 - 10, Status: status, CreatedAt: copyNow, UpdatedAt: copyNow})
			do(err)
		}
		for _, key := range []shop.Key{
			{Name: "rotated", Scopes: []shop.Scope{shop.Admin, shop.PetsRead}, Hint: "wxyz", CreatedAt: copyNow},
			{Name: "expired", Scopes: []shop.Scope{shop.PetsRead}, CreatedAt: copyNow, ExpiresAt: copyNow.Add(-time.Hour)},
			{Name: "revoked", CreatedAt: copyNow},
		} {
			_, err := tx.InsertKey(key)
			do(err)
		}
		do(tx.InsertSecret(1, oldSecret))
		do(tx.ExpireSecrets(1, copyNow, copyNow.Add(time.Hour)))
		do(tx.InsertSecret(1, newSecret))
		do(tx.InsertSecret(3, lostSecret))
		do(tx.DeleteKey(shop.Key{ID: 3}))
		do(tx.SetKeyLastUsed(2, copyNow))
		do(tx.InsertSession(shop.HashSecret("token"), shop.Session{Secret: newSecret, EndsAt: copyNow.Add(time.Hour)}))
		for i, key := range keptKeys {
			do(tx.PutIdempotencyRecord(int64(i%2)*math.MaxInt64, key, shop.IdempotencyRecord{Fingerprint: newSecret, At: copyNow, StoredResponse: shop.StoredResponse{Status: 201,
				Location: "/pets/ä", Tag: `"ä"`, Body: []byte("\x00\xff" + key)}}))
		}
		for _, subject := range []string{"pets/1", "categories/ä"} {
			do(tx.InsertEvents(shop.NewEvent{Type: shop.PetCreated, Subject: subject, Actor: "keys/1", Data: []byte(`{"current":"🐈","previous":null}`)}))
		}
		for _, types := range [][]shop.EventType{nil, {shop.PetCreated, shop.OrderPlaced}} {
			hook, err := tx.InsertWebhook(shop.Webhook{URL: "https://example.com/ä?b", Types: types, Enabled: types == nil, CreatedAt: copyNow,
				UpdatedAt: copyNow, Position: 1, DisabledReason: strings.Repeat("gone", len(types)), FailingSince: copyNow})
			do(err)
			do(tx.InsertWebhookSecret(hook.ID, "whsec_old", copyNow))
			do(tx.ExpireWebhookSecrets(hook.ID, copyNow, copyNow.Add(time.Hour)))
			do(tx.InsertWebhookSecret(hook.ID, "whsec_new", copyNow.Add(time.Second)))
			_, err = tx.InsertDelivery(shop.Delivery{WebhookID: hook.ID, MessageID: "evt_1", EventID: "1", EventType: shop.PetCreated,
				Status: shop.DeliveryPending, CreatedAt: copyNow, NextAttemptAt: copyNow, ClaimedUntil: copyNow.Add(time.Minute), Body: []byte("{}"),
				Attempts: []shop.Attempt{{At: copyNow, Status: 500, Response: "ä\x00"}}})
			do(err)
		}
		do(tx.PutIdempotencyRecord(7, "no body", shop.IdempotencyRecord{At: copyNow, StoredResponse: shop.StoredResponse{Status: 204, Body: []byte{}}}))
		return errors.Join(steps...)
	})
}

// storeContents returns everything that can be read from a store.
func storeContents(t *testing.T, database string) []any {
	t.Helper()
	var all []any
	with(t, database, func(tx shop.WriteTx) error {
		var problems []error
		keep := func(value any, err error) { all, problems = append(all, value), append(problems, err) }
		w := shop.PageRequest{Limit: 1000}
		environment, err := tx.Environment()
		keep(environment, err)
		pets, err := tx.Pets(shop.PetList{PageRequest: w})
		keep(pets, err)
		found, err := tx.Pets(shop.PetList{PageRequest: w, PetFilter: shop.PetFilter{Query: "ärg"}})
		keep(found, err)
		categories, err := tx.Categories(w)
		keep(categories, err)
		inventory, err := tx.Inventory()
		keep(inventory, err)
		orders, err := tx.Orders(shop.OrderList{PageRequest: w})
		keep(orders, err)
		due, err := tx.DueOrders(copyNow.Add(2 * time.Hour))
		keep(due, err)
		keys, err := tx.Keys(w)
		keep(keys, err)
		events, err := tx.Events(shop.EventFilter{}, w)
		for i := range events {
			events[i].Time = time.Time{} // this time is set by the store's own clock
		}
		keep(events, err)
		last, err := tx.LastEvent()
		keep(last, err)
		for id := range int64(3) {
			hook, found, err := tx.Webhook(id)
			keep([]any{hook, found}, err)
			secrets, err := tx.WebhookSecrets(id, copyNow)
			keep(secrets, err)
			deliveries, err := tx.Deliveries(shop.DeliveryList{WebhookID: id, PageRequest: w})
			keep(deliveries, err)
		}
		for _, secret := range []shop.SecretHash{oldSecret, newSecret, lostSecret} {
			credential, found, err := tx.Credential(secret)
			keep([]any{credential, found}, err)
		}
		session, signedIn, err := tx.Session(shop.HashSecret("token"))
		keep([]any{session, signedIn}, err)
		for i, key := range append(keptKeys, "no body") {
			kept, found, err := tx.IdempotencyRecord([]int64{int64(i%2) * math.MaxInt64, 7}[i/len(keptKeys)], key)
			// Drivers return a missing body either as nil or as an empty slice.
			kept.Body = append([]byte{}, kept.Body...)
			keep([]any{kept, found}, err)
		}
		return errors.Join(problems...)
	})
	return all
}

// nextIDs returns the ids that a store assigns to the next row of each kind.
func nextIDs(t *testing.T, database string) (next [6]int64) {
	t.Helper()
	with(t, database, func(tx shop.WriteTx) error {
		pets, petErr := tx.InsertPets(shop.NewPet{Name: "next"})
		if petErr != nil {
			return petErr
		}
		pet := pets[0]
		order, orderErr := tx.InsertOrder(shop.Order{PetID: pet.ID, Status: shop.Cancelled})
		key, keyErr := tx.InsertKey(shop.Key{Name: "next"})
		category, categoryErr := tx.AssignCategoryID()
		hook, hookErr := tx.InsertWebhook(shop.Webhook{})
		delivery, deliveryErr := tx.InsertDelivery(shop.Delivery{Status: shop.DeliveryPending})
		next = [6]int64{pet.ID, order.ID, key.ID, category, hook.ID, delivery.ID}
		return errors.Join(orderErr, keyErr, categoryErr, hookErr, deliveryErr)
	})
	return next
}
