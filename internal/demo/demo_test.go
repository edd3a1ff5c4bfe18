package demo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"animalstore/internal/leaktest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/storeadmin"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// onBothEngines runs a test twice, with an empty SQLite store and with an empty PostgreSQL store.
func onBothEngines(t *testing.T, run func(t *testing.T, s *shoptest.Shop)) {
	for engine, postgres := range map[string]bool{"SQLite": false, "PostgreSQL": true} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			run(t, shoptest.Open(t, shoptest.Options{Postgres: postgres}))
		})
	}
}

// listAll returns all items in a list.
func listAll[T any](t *testing.T, list func(w shop.PageRequest) (shop.Page[T], error)) []T {
	t.Helper()
	page, err := list(shop.PageRequest{Limit: 10_000})
	if err != nil || page.More {
		t.Fatalf("%d items, and more: %v, %v", len(page.Items), page.More, err)
	}
	return page.Items
}

// The demo uses every feature, follows every rule and fills a store only once.
func TestFillUsesEveryFeatureOnce(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop) {
		ctx, service := t.Context(), s.Service
		// An API key does not count as data.
		if _, err := service.CreateKey(ctx, shop.NewKey{Name: "made before", Scopes: []shop.Scope{shop.Admin}}); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		n, err := Fill(ctx, s.Store, s.Database)
		if err != nil || n < 250 || n > 400 {
			t.Fatalf("%d animals, %v", n, err)
		}
		findings, err := storeadmin.Check(ctx, s.Database, func(finding string) { t.Error(finding) })
		if err != nil || findings.All != 0 {
			t.Errorf("%d findings, %v", findings.All, err)
		}

		inventory, err := service.Inventory(ctx)
		if err != nil || inventory.Available < 60 || inventory.Pending < 8 || inventory.Sold < 60 || inventory.Unspecified < 2 {
			t.Errorf("the inventory is %+v, %v", inventory, err)
		}
		categories := map[int64]int{}
		for _, pet := range listAll(t, func(w shop.PageRequest) (shop.Page[shop.Pet], error) {
			return service.ListPets(ctx, shop.PetList{PageRequest: w})
		}) {
			categories[pet.CategoryID]++
			if err := (shop.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}).Problems().Err(); err != nil {
				t.Error(err)
			}
			if name, kind, found := strings.Cut(pet.Name, ", "); !found || name == "" || kind == "" {
				t.Errorf("%q is not a name with a breed", pet.Name)
			}
			n--
		}
		if n != 0 {
			t.Errorf("Fill returned %d animals too many", n)
		}
		for _, category := range listAll(t, func(w shop.PageRequest) (shop.Page[shop.Category], error) { return service.ListCategories(ctx, w) }) {
			if category.Name == "" || categories[category.ID] < 10 {
				t.Errorf("the category %+v has %d animals", category, categories[category.ID])
			}
			delete(categories, category.ID)
		}
		if len(categories) > 0 {
			t.Errorf("these categories do not exist: %v", categories)
		}
		checkOrders(t, service, before)
		checkEvents(t, service, before)

		last, err := service.LastEvent(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Fill(ctx, s.Store, s.Database); err != nil || again != 0 {
			t.Errorf("filled again: %d, %v", again, err)
		}
		if now, err := service.LastEvent(ctx); err != nil || now != last {
			t.Errorf("filling again wrote %d events, %v", now-last, err)
		}
	})
}

func checkOrders(t *testing.T, service *shop.Service, before time.Time) {
	t.Helper()
	orders := map[shop.OrderStatus]int{}
	soon, referenced := 0, 0
	for _, order := range listAll(t, func(w shop.PageRequest) (shop.Page[shop.Order], error) {
		return service.ListOrders(t.Context(), shop.OrderList{PageRequest: w})
	}) {
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
	var first, last time.Time
	for i, event := range listAll(t, func(w shop.PageRequest) (shop.Page[shop.Event], error) {
		return service.ListEvents(t.Context(), shop.EventFilter{}, w)
	}) {
		if i == 0 {
			continue // this event is about the key that was created before
		}
		if i == 1 {
			first, last = event.Time, event.Time
		}
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
		if kinds[kind] == 0 && (strings.HasPrefix(string(kind), "pet.") || strings.HasPrefix(string(kind), "order.")) {
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

// Stores that are filled at different times have the same content, apart from the times.
func TestFillIsDeterministic(t *testing.T) {
	t.Parallel()
	var shops [][]string
	for range 2 {
		s := shoptest.Open(t, shoptest.Options{})
		if _, err := Fill(t.Context(), s.Store, s.Database); err != nil {
			t.Fatal(err)
		}
		var events []string
		for _, event := range listAll(t, func(w shop.PageRequest) (shop.Page[shop.Event], error) {
			return s.ListEvents(t.Context(), shop.EventFilter{Types: []shop.EventType{shop.PetCreated, shop.PetUpdated, shop.PetDeleted}}, w)
		}) {
			events = append(events, string(event.Type)+" "+string(event.Data))
		}
		shops = append(shops, events)
	}
	if strings.Join(shops[0], "\n") != strings.Join(shops[1], "\n") {
		t.Error("the second demo differs from the first")
	}
}

// Real data is never mixed with demo data.
func TestFillRefusesAStoreWithData(t *testing.T) {
	t.Parallel()
	for name, enter := range map[string]func(*testing.T, *shop.Service) error{
		"an animal": func(t *testing.T, s *shop.Service) error {
			_, err := s.CreatePet(t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1})
			return err
		},
		"a category": func(t *testing.T, s *shop.Service) error {
			_, err := s.CreateCategory(t.Context(), "Dogs")
			return err
		},
		"a webhook": func(t *testing.T, s *shop.Service) error {
			_, err := s.CreateWebhook(t.Context(), shop.NewWebhook{URL: "https://hooks.example.com/"})
			return err
		},
		"an order for a deleted animal": func(t *testing.T, s *shop.Service) error {
			pet, err := s.CreatePet(t.Context(), shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available})
			if err != nil {
				return err
			}
			order, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: pet.ID})
			if err != nil {
				return err
			}
			_, err = s.UpdateOrder(t.Context(), order.ID, shop.Cancelled, nil)
			return errors.Join(err, s.DeletePet(t.Context(), pet.ID, nil), s.DeleteCategory(t.Context(), 1, nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{})
			if err := enter(t, s.Service); err != nil {
				t.Fatal(err)
			}
			last, err := s.LastEvent(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := Fill(t.Context(), s.Store, s.Database); !errors.Is(err, ErrNotEmpty) {
				t.Errorf("%d animals, %v", n, err)
			}
			if now, err := s.LastEvent(t.Context()); err != nil || now != last {
				t.Errorf("%d events were written, %v", now-last, err)
			}
		})
	}
}

// If several nodes start at the same time, the store is filled only once.
func TestConcurrentFillsHappenOnce(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop) {
		const nodes = 3
		filled := make(chan int, nodes)
		for range nodes {
			go func() {
				n, err := Fill(t.Context(), s.Store, s.Database)
				if err != nil {
					t.Error(err)
				}
				filled <- n
			}()
		}
		sum := 0
		for range nodes {
			sum += <-filled
		}
		pets := listAll(t, func(w shop.PageRequest) (shop.Page[shop.Pet], error) {
			return s.ListPets(t.Context(), shop.PetList{PageRequest: w})
		})
		if sum != len(pets) || sum == 0 {
			t.Errorf("%d nodes added %d animals, and there are %d", nodes, sum, len(pets))
		}
		if _, err := storeadmin.Check(t.Context(), s.Database, func(finding string) { t.Error(finding) }); err != nil {
			t.Error(err)
		}
	})
}
