package client_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"animalstore/client"
	"animalstore/internal/shop"
)

func (y *story) categories() []step {
	c, ctx := y.c, y.Context()
	return []step{
		{"CreateCategory", func() {
			y.dogs = must(c.CreateCategory(ctx, "Dogs & Co"))(y.T)
			wantEqual(y.T, "category", y.dogs, client.Category{ID: 1, Name: "Dogs & Co"})
		}},
		{"PutCategory", func() {
			for _, want := range []bool{!y.lost, false} { // the attempt whose response was lost has created the category
				cats, created, err := c.PutCategory(ctx, math.MinInt64, "Cats")
				if err != nil || created != want || cats != (client.Category{ID: math.MinInt64, Name: "Cats"}) {
					y.Errorf("put %+v, %v, %v, want created to be %v", cats, created, err, want)
				}
			}
		}},
		{"GetCategory", func() { wantEqual(y.T, "category", must(c.GetCategory(ctx, y.dogs.ID))(y.T), y.dogs) }},
		{"Categories", func() {
			got := collect(y.T, c.Categories(ctx))
			if want := []client.Category{{ID: math.MinInt64, Name: "Cats"}, y.dogs}; !slices.Equal(got, want) {
				y.Errorf("got %+v, want %+v", got, want)
			}
		}},
		{"DeleteCategory", func() {
			if err := c.DeleteCategory(ctx, y.dogs.ID); err != nil {
				y.Error(err)
			}
			_, err := c.GetCategory(ctx, y.dogs.ID)
			wantCode(y.T, err, client.CodeNotFound)
		}},
	}
}

func (y *story) pets() []step {
	c, ctx := y.c, y.Context()
	return []step{
		{"CreatePet", func() {
			y.zoe = must(c.CreatePet(ctx, client.NewPet{Name: "Zoë <&> \u2028", CategoryID: math.MaxInt64}))(y.T)
			if want := (client.Pet{ID: 1, Name: "Zoë <&> \u2028", CategoryID: math.MaxInt64, ETag: y.zoe.ETag}); y.zoe != want || y.zoe.ETag == "" {
				y.Errorf("created %+v, want %+v", y.zoe, want)
			}
			// A key that the program chooses identifies the call even across restarts.
			once, rex := client.IdempotencyKey(` a"b\"c\ `), client.NewPet{Name: "Rex", CategoryID: 0, Status: client.PetAvailable}
			y.rex = must(c.CreatePet(ctx, rex, once))(y.T)
			wantEqual(y.T, "the repeated call", must(c.CreatePet(ctx, rex, once))(y.T), y.rex)
			rex.Name = "Max"
			_, err := c.CreatePet(ctx, rex, once)
			wantCode(y.T, err, client.CodeIdempotencyKeyReused)
			_, err = c.CreatePet(ctx, client.NewPet{Status: "asleep"})
			wantCode(y.T, err, client.CodeValidationFailed)
		}},
		{"GetPet", func() {
			wantEqual(y.T, "animal", must(c.GetPet(ctx, y.zoe.ID))(y.T), y.zoe)
			_, err := c.GetPet(ctx, math.MaxInt64)
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != client.CodeNotFound || e.Status != 404 || e.RequestID == "" ||
				e.Message != fmt.Sprintf("There is no animal with the id %d.", math.MaxInt64) {
				y.Errorf("got %+v", err)
			}
		}},
		{"UpdatePet", func() {
			want := y.zoe
			for _, update := range []client.PetUpdate{
				{Status: new(client.PetSold)}, {Name: new("ZOË & co"), CategoryID: new(int64(1<<53 + 1)), Status: new(client.PetAvailable)}, {},
			} {
				if update.Name != nil {
					want.Name, want.CategoryID = *update.Name, *update.CategoryID
				}
				if update.Status != nil {
					want.Status = *update.Status
				}
				got := must(c.UpdatePet(ctx, y.zoe.ID, update))(y.T)
				if changed := update != (client.PetUpdate{}); changed == (got.ETag == y.zoe.ETag) {
					y.Errorf("the ETag %s has become %s", y.zoe.ETag, got.ETag)
				}
				want.ETag, y.zoe = got.ETag, got
				wantEqual(y.T, "animal", got, want)
			}
			y.s.injectPerCall(nil) // TestRetryAfterALostResponse covers conditional updates on other networks
			_, err := c.UpdatePet(ctx, y.zoe.ID, client.PetUpdate{Name: new("Bo")}, client.IfMatch(y.rex.ETag))
			wantCode(y.T, err, client.CodePreconditionFailed)
		}},
		{"ListPets", func() {
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
					y.Errorf("%+v: got %v, %q, %v, want %v", q.query, petIDs(pets), next, err, q.want)
				}
			}
			page, next, err := c.ListPets(ctx, client.PetQuery{Limit: 1})
			rest, end, err2 := c.ListPets(ctx, client.PetQuery{Limit: 1, Cursor: next})
			if got := petIDs(append(page, rest...)); !slices.Equal(got, []int64{2, 1}) || next == "" || end != "" || errors.Join(err, err2) != nil {
				y.Errorf("page by page: got %v, %q, %q, %v, %v", got, next, end, err, err2)
			}
			_, _, err = c.ListPets(ctx, client.PetQuery{Limit: 101})
			wantCode(y.T, err, client.CodeInvalidParameter)
		}},
		{"Pets", func() {
			for _, limit := range []int{0, 1} {
				if got := petIDs(collect(y.T, c.Pets(ctx, client.PetQuery{Limit: limit, Status: client.PetAvailable}))); !slices.Equal(got, []int64{2, 1}) {
					y.Errorf("got %v", got)
				}
			}
		}},
		{"Inventory", func() { wantEqual(y.T, "inventory", must(c.Inventory(ctx))(y.T), client.Inventory{Available: 2}) }},
	}
}

func petIDs(pets []client.Pet) (ids []int64) {
	for _, pet := range pets {
		ids = append(ids, pet.ID)
	}
	return ids
}

func (y *story) files() []step {
	c, ctx := y.c, y.Context()
	file := []byte("name;categoryId\nTom;3\n")
	return []step{
		{"CheckFile", func() {
			if err := c.CheckFile(ctx, client.CSV, file); err != nil {
				y.Error(err)
			}
			for _, format := range []client.Format{client.CSV, client.NDJSON} {
				err := c.CheckFile(ctx, format, []byte("name,categoryId\nTom,1\nTom,x\n"))
				if wantCode(y.T, err, client.CodeValidationFailed); !strings.Contains(err.Error(), "line 3: ") {
					y.Error(err)
				}
			}
		}},
		{"ImportFile", func() {
			wantEqual(y.T, "import", must(c.ImportFile(ctx, client.CSV, file))(y.T), client.Imported{Created: 1, Replayed: y.lost})
		}},
		{"ImportPets", func() {
			pets := []client.NewPet{{Name: "=1+1", CategoryID: 3, Status: client.PetSold}, {Name: "Mia", CategoryID: -2}}
			wantEqual(y.T, "import", must(c.ImportPets(ctx, pets))(y.T), client.Imported{Created: 2, Replayed: y.lost})
		}},
		{"ExportFile", func() {
			for format, want := range map[client.Format]string{
				client.CSV:    "3,Tom,3,\r\n4,'=1+1,3,sold\r\n5,Mia,-2,\r\n",
				client.NDJSON: `{"id":4,"name":"=1+1","categoryId":3,"status":"sold"}` + "\n" + `{"id":5,"name":"Mia","categoryId":-2}` + "\n",
			} {
				var got strings.Builder
				n, err := c.ExportFile(ctx, format, &got)
				if y.cut { // an export that has begun is not repeated
					if !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 || n != int64(got.Len()) {
						y.Errorf("got %d bytes and %v from a cut export", n, err)
					}
				} else if err != nil || n != int64(got.Len()) || !strings.HasSuffix(got.String(), want) {
					y.Errorf("got %d bytes, %v, %q, want the end to be %q", n, err, got.String(), want)
				}
				if y.cut {
					y.s.injectPerCall(cutResponse)
				}
			}
		}},
	}
}

func (y *story) orders() []step {
	c, ctx := y.c, y.Context()
	wantPet := func(want client.PetStatus) {
		y.Helper()
		wantEqual(y.T, "animal", must(c.GetPet(ctx, y.rex.ID))(y.T).Status, want)
	}
	return []step{
		{"PlaceOrder", func() {
			y.first = must(c.PlaceOrder(ctx, client.NewOrder{PetID: y.rex.ID, Reference: "web-17"}))(y.T)
			want := client.Order{ID: 1, PetID: y.rex.ID, Status: client.OrderPlaced, Reference: "web-17", CreatedAt: y.first.CreatedAt, UpdatedAt: y.first.CreatedAt, HoldExpiresAt: y.first.HoldExpiresAt}
			if y.first != want || !y.first.HoldExpiresAt.After(y.first.CreatedAt) {
				y.Errorf("placed %+v, want %+v", y.first, want)
			}
			wantPet(client.PetPending)
			_, err := c.PlaceOrder(ctx, client.NewOrder{PetID: y.rex.ID})
			wantCode(y.T, err, client.CodePetNotAvailable)
		}},
		{"CancelOrder", func() {
			cancelled := must(c.CancelOrder(ctx, y.first.ID))(y.T)
			if cancelled.Status != client.OrderCancelled || !cancelled.HoldExpiresAt.IsZero() {
				y.Errorf("cancelled %+v", cancelled)
			}
			wantPet(client.PetAvailable)
		}},
		{"ApproveOrder", func() {
			y.order = must(c.PlaceOrder(ctx, client.NewOrder{PetID: y.rex.ID}))(y.T)
			wantEqual(y.T, "status", must(c.ApproveOrder(ctx, y.order.ID))(y.T).Status, client.OrderApproved)
			wantPet(client.PetPending)
		}},
		{"DeliverOrder", func() {
			y.order = must(c.DeliverOrder(ctx, y.order.ID))(y.T)
			wantEqual(y.T, "status", y.order.Status, client.OrderDelivered)
			wantPet(client.PetSold)
		}},
		{"GetOrder", func() { wantEqual(y.T, "order", must(c.GetOrder(ctx, y.order.ID))(y.T), y.order) }},
		{"ListOrders", func() {
			for _, query := range []client.OrderQuery{{Status: client.OrderDelivered}, {PetID: y.rex.ID, Limit: 1}} {
				orders, next, err := c.ListOrders(ctx, query)
				if err != nil || !slices.Equal(orders, []client.Order{y.order}) || (next != "") != (query.Limit == 1) {
					y.Errorf("%+v: got %+v, %q, %v", query, orders, next, err)
				}
				if query.Cursor = next; next != "" {
					if orders, next, err = c.ListOrders(ctx, query); err != nil || len(orders) != 1 || orders[0].ID != y.first.ID || next != "" {
						y.Errorf("the next page has %+v, %q, %v", orders, next, err)
					}
				}
			}
			if orders, _, err := c.ListOrders(ctx, client.OrderQuery{PetID: y.zoe.ID}); err != nil || len(orders) > 0 {
				y.Errorf("got %+v, %v", orders, err)
			}
		}},
		{"Orders", func() { wantEqual(y.T, "orders", len(collect(y.T, c.Orders(ctx, client.OrderQuery{Limit: 1}))), 2) }},
		{"DeletePet", func() {
			wantCode(y.T, c.DeletePet(ctx, y.rex.ID, client.IfMatch(y.rex.ETag)), client.CodePreconditionFailed)
			current := must(c.GetPet(ctx, y.rex.ID))(y.T)
			if err := c.DeletePet(ctx, y.rex.ID, client.IfMatch(current.ETag)); err != nil {
				y.Error(err)
			}
			if err := c.DeletePet(ctx, y.zoe.ID); err != nil {
				y.Error(err)
			}
			wantEqual(y.T, "inventory", must(c.Inventory(ctx))(y.T), client.Inventory{Sold: 1, Unspecified: 2})
		}},
	}
}

func (y *story) keys() []step {
	c, ctx := y.c, y.Context()
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	return []step{
		{"CreateKey", func() {
			key, err := c.CreateKey(ctx, client.NewKey{Name: "The website", Scopes: []client.Scope{client.ScopePetsRead, client.ScopeOrdersWrite}, ExpiresAt: expires})
			y.wantSecret(key.Secret, err)
			if key.ID != 1 || key.Name != "The website" || len(key.Scopes) != 2 || len(key.Hint) != 4 || !key.ExpiresAt.Equal(expires) || !key.LastUsedAt.IsZero() || key.CreatedAt.IsZero() {
				y.Errorf("created %+v", key)
			}
			y.key = key
		}},
		{"RotateKey", func() {
			rotated, err := c.RotateKey(ctx, y.key.ID, 1500*time.Millisecond)
			sent := y.s.requests()
			wantEqual(y.T, "body", sent[len(sent)-1].body, `{"overlapSeconds":2}`)
			y.wantSecret(rotated.Secret, err)
			if rotated.ID != y.key.ID || rotated.Secret == y.key.Secret && !y.lost {
				y.Errorf("rotated to %+v", rotated)
			}
		}},
		{"CurrentKey", func() {
			till := y.s.shop.Key(y.T, shop.PetsRead)
			current := must(y.s.clientWith(till.Secret, func(int) int { return neverCut }).CurrentKey(ctx))(y.T)
			if current.ID != till.ID || current.Secret != "" || current.LastUsedAt.IsZero() || !current.ExpiresAt.IsZero() {
				y.Errorf("the current key is %+v", current)
			}
		}},
		{"Keys", func() {
			if keys := collect(y.T, c.Keys(ctx)); len(keys) != 2 || keys[1].ID != y.key.ID || keys[0].Secret+keys[1].Secret != "" {
				y.Errorf("the keys are %+v", keys)
			}
		}},
		{"RevokeKey", func() {
			if err := c.RevokeKey(ctx, y.key.ID); err != nil {
				y.Error(err)
			}
			wantEqual(y.T, "keys", len(collect(y.T, c.Keys(ctx))), 1)
		}},
	}
}

func (y *story) webhooks() []step {
	c, ctx := y.c, y.Context()
	types := []client.EventType{client.EventPetCreated, client.EventOrderPlaced}
	return []step{
		{"CreateWebhook", func() {
			hook, err := c.CreateWebhook(ctx, client.NewWebhook{URL: "https://partner.example/hook", Types: types})
			y.wantSecret(hook.Secret, err)
			if hook.ID != 1 || hook.URL != "https://partner.example/hook" || !slices.Equal(hook.Types, types) || !hook.Enabled || hook.DisabledReason != "" ||
				!hook.FailingSince.IsZero() || hook.CreatedAt.IsZero() || hook.UpdatedAt.IsZero() {
				y.Errorf("created %+v", hook)
			}
			y.hook = hook
		}},
		{"GetWebhook", func() {
			if got := must(c.GetWebhook(ctx, y.hook.ID))(y.T); got.Secret != "" || got.URL != y.hook.URL {
				y.Errorf("got %+v", got)
			}
		}},
		{"UpdateWebhook", func() {
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
				y.s.requests()
				got := must(c.UpdateWebhook(ctx, y.hook.ID, u.update))(y.T)
				if sent := y.s.requests()[0].body; sent != u.body || !slices.Equal(got.Types, u.types) || got.Enabled != u.on {
					y.Errorf("after %s it is %+v, want %+v", sent, got, u)
				}
			}
		}},
		{"RotateWebhook", func() {
			rotated, err := c.RotateWebhook(ctx, y.hook.ID, 1500*time.Millisecond)
			sent := y.s.requests()
			wantEqual(y.T, "body", sent[len(sent)-1].body, `{"overlapSeconds":2}`)
			y.wantSecret(rotated.Secret, err)
		}},
		{"Webhooks", func() {
			if hooks := collect(y.T, c.Webhooks(ctx)); len(hooks) != 1 || hooks[0].ID != y.hook.ID || hooks[0].Secret != "" {
				y.Errorf("the webhooks are %+v", hooks)
			}
		}},
		{"TestWebhook", func() {
			for i, attempt := range []shop.Attempt{
				{At: time.Now(), Duration: 70 * time.Millisecond, Status: 200, Response: "Thanks"},
				{At: time.Now(), Duration: time.Second, Error: "connection refused"},
			} {
				y.test = must(c.TestWebhook(ctx, y.hook.ID))(y.T)
				if y.test.ID != int64(i+1) || y.test.WebhookID != y.hook.ID || y.test.MessageID == "" || y.test.EventID != "" || y.test.EventType != client.EventWebhookTest ||
					y.test.Status != client.DeliveryPending || len(y.test.Attempts) != 0 || y.test.NextAttemptAt.IsZero() || y.test.CreatedAt.IsZero() {
					y.Errorf("created %+v", y.test)
				}
				for _, claim := range must(y.s.shop.ClaimDeliveries(ctx, y.hook.ID, 10))(y.T) {
					must(y.s.shop.FinishAttempt(ctx, claim, attempt, 0))(y.T)
				}
			}
		}},
		{"Redeliver", func() {
			again := must(c.Redeliver(ctx, y.hook.ID, y.test.ID))(y.T)
			if again.ID != y.test.ID+1 || again.MessageID != y.test.MessageID {
				y.Errorf("made %+v from %+v", again, y.test)
			}
		}},
		{"Deliveries", func() {
			var statuses []client.DeliveryStatus
			for _, delivery := range collect(y.T, c.Deliveries(ctx, y.hook.ID, client.DeliveryQuery{Limit: 2})) {
				statuses = append(statuses, delivery.Status)
			}
			if want := []client.DeliveryStatus{client.DeliveryPending, client.DeliveryFailed, client.DeliverySucceeded}; !slices.Equal(statuses, want) {
				y.Errorf("the deliveries are %v, want %v", statuses, want)
			}
		}},
		{"ListDeliveries", func() {
			for status, want := range map[client.DeliveryStatus]client.Attempt{
				client.DeliverySucceeded: {DurationMS: 70, Status: 200, Answer: "Thanks"},
				client.DeliveryFailed:    {DurationMS: 1000, Error: "connection refused"},
			} {
				page, next, err := c.ListDeliveries(ctx, y.hook.ID, client.DeliveryQuery{Status: status})
				if err != nil || len(page) != 1 || next != "" || len(page[0].Attempts) != 1 || !page[0].NextAttemptAt.IsZero() || page[0].Attempts[0].At.IsZero() {
					y.Fatalf("%s: got %+v, %q, %v", status, page, next, err)
				}
				want.At = page[0].Attempts[0].At
				wantEqual(y.T, "attempt", page[0].Attempts[0], want)
			}
		}},
		{"DeleteWebhook", func() {
			other := must(y.s.shop.CreateWebhook(ctx, shop.NewWebhook{URL: "https://partner.example/other"}))(y.T)
			if err := c.DeleteWebhook(ctx, other.ID); err != nil {
				y.Error(err)
			}
			wantEqual(y.T, "webhooks", len(collect(y.T, c.Webhooks(ctx))), 1)
		}},
	}
}
