package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/storeadmin"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// all is a request for all items of a list.
var all = shop.PageRequest{Limit: 10_000}

// items returns all items of a list.
func items[T any](page shop.Page[T], err error) []T {
	if err != nil || page.More {
		panic(fmt.Sprintf("%d items, and more: %v, %v", len(page.Items), page.More, err))
	}
	return page.Items
}

// wantNothingFilled checks that Fill changes nothing and returns the given error.
func wantNothingFilled(t *testing.T, s *shoptest.Shop, want error) {
	t.Helper()
	last, err1 := s.LastEvent(t.Context())
	n, err := Fill(t.Context(), s.Store, s.Database)
	if now, err2 := s.LastEvent(t.Context()); err1 != nil || err2 != nil || n != 0 || now != last || !errors.Is(err, want) {
		t.Errorf("got %d animals and %d events, %v, %v, %v; want none and %v", n, now-last, err1, err, err2, want)
	}
}

// The demo uses every feature and follows every rule. It fills a store only once, even if several nodes start at
// the same time.
func TestFillUsesEveryFeatureOnce(t *testing.T) {
	t.Parallel()
	for engine, postgres := range map[string]bool{"SQLite": false, "PostgreSQL": true} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{Postgres: postgres})
			ctx, service := t.Context(), s.Service
			s.Key(t, shop.Admin) // a key does not count as data
			before := time.Now()
			var sum atomic.Int64
			var nodes sync.WaitGroup
			for range 3 {
				nodes.Go(func() {
					added, err := Fill(ctx, s.Store, s.Database)
					if err != nil {
						t.Error(err)
					}
					sum.Add(int64(added))
				})
			}
			nodes.Wait()
			n := sum.Load()
			if n < 250 || n > 400 {
				t.Fatalf("the nodes added %d animals, want 250 to 400", n)
			}
			if _, err := storeadmin.Check(ctx, s.Database, func(finding string) { t.Error(finding) }); err != nil {
				t.Error(err)
			}
			inventory, err := service.Inventory(ctx)
			if err != nil || inventory.Available < 60 || inventory.Pending < 8 || inventory.Sold < 60 || inventory.Unspecified < 2 {
				t.Errorf("the inventory is %+v, %v", inventory, err)
			}
			categories := map[int64]int{}
			pets := items(service.ListPets(ctx, shop.Caller{}, shop.PetList{PageRequest: all}, nil))
			if n != int64(len(pets)) {
				t.Errorf("Fill added %d animals, but there are %d", n, len(pets))
			}
			for _, pet := range pets {
				categories[pet.CategoryID]++
				if err := (shop.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}).Problems().Err(); err != nil {
					t.Error(err)
				}
			}
			for _, category := range items(service.ListCategories(ctx, all)) {
				if category.Name == "" || categories[category.ID] < 10 {
					t.Errorf("the category %+v has %d animals", category, categories[category.ID])
				}
				delete(categories, category.ID)
			}
			if len(categories) > 0 {
				t.Errorf("these categories do not exist: %v", categories)
			}
			checkProfiles(t, service)
			checkOrders(t, service, before)
			checkEvents(t, service, before)
			wantNothingFilled(t, s, nil)
		})
	}
}

// checkProfiles checks that every member of a profile is in use, and that a third of the animals have photos.
func checkProfiles(t *testing.T, service *shop.Service) {
	t.Helper()
	profiles := items(service.ListProfiles(t.Context(), shop.Caller{}, shop.ProfileList{PageRequest: all}))
	photographed, published, members := 0, 0, map[string]int{}
	for _, profile := range profiles {
		var shown map[string]any
		if err := json.Unmarshal(profile.AppendJSON(nil), &shown); err != nil {
			t.Fatal(err)
		}
		for member := range shown {
			members[member]++
		}
		if profile.Published {
			published++
		}
		for i, photo := range profile.Photos {
			if i == 0 {
				photographed++
			}
			if photo.Alt == "" {
				t.Errorf("a photo of %s has no alternative text", profile.Pet.Name)
			}
			for _, size := range shop.PhotoSizes() {
				if file, err := service.PhotoFile(t.Context(), photo.Name, size); err != nil || len(file) == 0 {
					t.Errorf("a photo of %s has a file of %d bytes, %v", profile.Pet.Name, len(file), err)
				}
			}
		}
		if strings.Contains(profile.Pet.Name, ",") || len(profile.Breeds) > 0 && strings.Contains(profile.Pet.Name, profile.Breeds[0]) {
			t.Errorf("the name %q contains a breed", profile.Pet.Name)
		}
	}
	n := len(profiles)
	for _, member := range []string{"description", "breeds", "birthDate", "size", "color", "price", "arrivalDate", "tags", "location"} {
		if members[member] < n*9/10 {
			t.Errorf("only %d of %d profiles have the member %s", members[member], n, member)
		}
	}
	for _, member := range []string{"sex", "mixed", "birthDateEstimated", "traits", "contactUrl", "microchip", "notes"} {
		if members[member] < 5 {
			t.Errorf("only %d of %d profiles have the member %s", members[member], n, member)
		}
	}
	if published < n*2/3 || published > n*19/20 || photographed < n*3/10 || photographed > n*4/10 {
		t.Errorf("of %d profiles, %d are published, and %d have photos", n, published, photographed)
	}
}

func checkOrders(t *testing.T, service *shop.Service, before time.Time) {
	t.Helper()
	orders := map[shop.OrderStatus]int{}
	soon, referenced := 0, 0
	for _, order := range items(service.ListOrders(t.Context(), shop.Caller{}, shop.OrderList{PageRequest: all})) {
		orders[order.Status]++
		if order.Status == shop.Placed && order.HoldExpiresAt.Before(before.Add(24*time.Hour)) {
			soon++
		}
		if order.Reference != "" {
			referenced++
		}
		if order.CreatedAt.After(time.Now()) || order.UpdatedAt.After(time.Now()) || order.UpdatedAt.Before(order.CreatedAt) {
			t.Errorf("order %+v is not in the past", order)
		}
	}
	for status, least := range map[shop.OrderStatus]int{shop.Placed: 6, shop.Approved: 2, shop.Delivered: 40, shop.Cancelled: 10, shop.Expired: 5} {
		if orders[status] < least {
			t.Errorf("only %d orders are %s", orders[status], status)
		}
	}
	if soon < 2 || referenced < 20 {
		t.Errorf("%d holds end within a day, and %d orders have a reference", soon, referenced)
	}
}

func checkEvents(t *testing.T, service *shop.Service, before time.Time) {
	t.Helper()
	kinds, actors := map[shop.EventType]int{}, map[string]int{}
	// Skip the first event, which is about the admin key.
	events := items(service.ListEvents(t.Context(), shop.Caller{}, shop.EventFilter{}, all))[1:]
	first, last := events[0].Time, time.Time{}
	for _, event := range events {
		if event.Time.Before(last) {
			t.Errorf("event %s has the time %v, and an earlier one %v", event.ID, event.Time, last)
		}
		last = event.Time
		kinds[event.Type]++
		actors[event.Actor]++
	}
	if first.After(before.AddDate(0, 0, -30)) || last.Before(before.Add(-time.Hour)) || last.After(time.Now()) {
		t.Errorf("the history lasts from %v to %v", first, last)
	}
	for _, kind := range shop.EventTypes() {
		subject, _, _ := strings.Cut(string(kind), ".")
		if kinds[kind] == 0 && slices.Contains([]string{"pet", "profile", "order"}, subject) {
			t.Errorf("there is no %s event", kind)
		}
	}
	if len(actors) != 4 || actors["system"] < 5 { // three API keys, and "system", which is the actor when a hold expires
		t.Errorf("the actors are %v", actors)
	}
	days, err := service.DailyStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	busy := 0
	for _, day := range days {
		if day.Arrivals > 0 && day.Sales > 0 {
			busy++
		}
		if day.Arrivals > 30 || day.Sales > 30 {
			t.Errorf("%+v dwarfs the other days", day)
		}
	}
	if busy < len(days)*2/3 {
		t.Errorf("only %d of %d days have arrivals and sales", busy, len(days))
	}
}

// Stores that are filled at different times have the same content, apart from the times and the URLs of photos.
func TestFillIsDeterministic(t *testing.T) {
	t.Parallel()
	var shops [2]string
	for i := range shops {
		s := shoptest.Open(t, shoptest.Options{})
		if _, err := Fill(t.Context(), s.Store, s.Database); err != nil {
			t.Fatal(err)
		}
		filter := shop.EventFilter{Types: []shop.EventType{shop.PetCreated, shop.PetUpdated, shop.PetDeleted, shop.ProfileUpdated}}
		differing := regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}[^"]*"|/photos/[0-9a-f]{32}-`)
		for _, event := range items(s.ListEvents(t.Context(), shop.Caller{}, filter, all)) {
			shops[i] += string(event.Type) + " " + differing.ReplaceAllString(string(event.Data), "") + "\n"
		}
	}
	if shops[0] != shops[1] {
		t.Error("the second demo differs from the first")
	}
}

// Real data is never mixed with demo data.
func TestFillRefusesAStoreWithData(t *testing.T) {
	t.Parallel()
	for name, enter := range map[string]func(context.Context, *shop.Service) (any, error){
		"an animal": func(ctx context.Context, s *shop.Service) (any, error) {
			return s.CreatePet(ctx, shop.Caller{}, shop.NewPet{Name: "Rex", CategoryID: 1})
		},
		"a category": func(ctx context.Context, s *shop.Service) (any, error) {
			return s.CreateCategory(ctx, shop.Caller{}, "Dogs")
		},
		"a webhook": func(ctx context.Context, s *shop.Service) (any, error) {
			return s.CreateWebhook(ctx, shop.Caller{}, shop.NewWebhook{URL: "https://hooks.example.com/"})
		},
		"an order for a deleted animal": func(ctx context.Context, s *shop.Service) (any, error) {
			_, err1 := s.CreatePet(ctx, shop.Caller{}, shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available})
			_, err2 := s.PlaceOrder(ctx, shop.Caller{}, shop.NewOrder{PetID: 1})
			_, err3 := s.UpdateOrder(ctx, shop.Caller{}, 1, shop.OrderChange{Status: new(shop.Cancelled)}, nil)
			return nil, errors.Join(err1, err2, err3, s.DeletePet(ctx, shop.Caller{}, 1, nil), s.DeleteCategory(ctx, shop.Caller{}, 1, nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{})
			if _, err := enter(t.Context(), s.Service); err != nil {
				t.Fatal(err)
			}
			wantNothingFilled(t, s, ErrNotEmpty)
		})
	}
}
