package shop

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// PetView is an animal as shown on the staff pages, together with its category, the order that holds it and its profile.
type PetView struct {
	Pet
	Category Category
	Order    *Order // nil if no order holds the animal
	Profile  Profile
	Key      string // that by which a list is sorted, or "" if it is not sorted by a key
}

// Transitions returns the statuses that the animal can be given now. There are none while an order holds it.
func (v PetView) Transitions() []Status {
	if v.Order != nil {
		return nil
	}
	return v.Status.Transitions()
}

// ListPetViews returns one page of the catalogue for the staff pages, without descriptions and notes. In a list by price, the
// prices in the shop's currency come first.
func (s *Service) ListPetViews(ctx context.Context, by Caller, list ProfileList) (Page[PetView], error) {
	list.Currency, list.NoTexts = s.CurrentSettings().Currency, true
	return readCurrent(ctx, s, Reading{By: by, Heavy: list.isHeavy()}, func(tx ReadTx) (Page[PetView], error) {
		page, err := tx.Profiles(list)
		if err != nil {
			return Page[PetView]{}, err
		}
		views, err := petViews(tx, page.Items...)
		for i := range views {
			views[i].Key = list.Key(views[i].Profile)
		}
		return Page[PetView]{views, page.More, page.Stopped, page.StoppedKey}, err
	})
}

// CountPetViews counts the animals that match a filter, by status. It ignores the status in the filter. If complete is false,
// there are more, because it counts a limited number of animals.
func (s *Service) CountPetViews(ctx context.Context, by Caller, filter ProfileFilter) (n Inventory, complete bool, err error) {
	filter.Status, filter.NoStatus = "", false
	profiles, err := readCurrent(ctx, s, Reading{By: by, Heavy: true}, func(tx ReadTx) (found []Profile, err error) {
		found, complete, err = FewProfiles(tx, filter, true, maxCounted)
		return found, err
	})
	for _, profile := range profiles {
		n.Add(profile.Pet.Status, 1)
	}
	return n, complete, err
}

// maxCounted is the maximum number of animals that CountPetViews counts.
const maxCounted = 1000

// PetView returns the animal with the given id for the staff pages. It fails with not_found if there is none.
func (s *Service) PetView(ctx context.Context, id int64) (PetView, error) {
	return readCurrent(ctx, s, Reading{}, func(tx ReadTx) (PetView, error) {
		profile, err := existingProfile(tx, id)
		if err != nil {
			return PetView{}, err
		}
		views, err := petViews(tx, profile)
		if err != nil {
			return PetView{}, err
		}
		return views[0], nil
	})
}

// petViews adds categories and open orders to several animals. It reads the categories with one query and the
// orders with another.
func petViews(tx ReadTx, profiles ...Profile) ([]PetView, error) {
	var pendingIDs, categoryIDs []int64
	for _, profile := range profiles {
		pet := profile.Pet
		if pet.Status == Pending { // only pending animals can have an open order
			pendingIDs = append(pendingIDs, pet.ID)
		}
		if !slices.Contains(categoryIDs, pet.CategoryID) {
			categoryIDs = append(categoryIDs, pet.CategoryID)
		}
	}
	orders, err := tx.OpenOrders(pendingIDs)
	if err != nil {
		return nil, err
	}
	openOrders := map[int64]*Order{}
	for _, order := range orders {
		order = order.ForKey(false)
		openOrders[order.PetID] = &order
	}
	categories, err := categoriesByID(tx, categoryIDs)
	if err != nil {
		return nil, err
	}
	views := make([]PetView, len(profiles))
	for i, p := range profiles {
		views[i] = PetView{Pet: p.Pet, Category: categories[p.Pet.CategoryID], Order: openOrders[p.Pet.ID], Profile: p}
	}
	return views, nil
}

func categoriesByID(tx ReadTx, ids []int64) (map[int64]Category, error) {
	found, err := tx.CategoriesByID(ids)
	categories := map[int64]Category{}
	for _, category := range found {
		categories[category.ID] = category
	}
	return categories, err
}

// OrderView is an order as shown on the staff pages, together with its animal. Pet is nil if the animal was
// deleted.
type OrderView struct {
	Order
	Pet *Pet
}

// For says in a few words for whom an order is: the name of the customer, or otherwise the phone number, the e-mail address or
// the reference. It returns "" if nothing is known.
func (o Order) For() string {
	return cmp.Or(o.Customer.Name, o.Customer.Phone, o.Customer.Email, o.Reference)
}

// HasCustomer reports whether anything is known about the customer.
func (o Order) HasCustomer() bool { return o.Customer != Customer{} }

// OrderPage is one page of orders together with the current time of the store's clock. Holds expire according
// to this clock.
type OrderPage struct {
	Page[OrderView]
	Now time.Time
}

// ListOrderViews returns one page of orders for the staff pages, newest first.
func (s *Service) ListOrderViews(ctx context.Context, by Caller, list OrderList) (OrderPage, error) {
	return readCurrent(ctx, s, Reading{By: by, Heavy: list.isHeavy()}, func(tx ReadTx) (OrderPage, error) {
		page, err := list.read(tx)
		if err != nil {
			return OrderPage{}, err
		}
		return orderPage(tx, by, page)
	})
}

// orderPage adds the animals to several orders, and leaves out the customers if the caller may not see them. It reads all
// animals with one query.
func orderPage(tx ReadTx, by Caller, page Page[Order]) (OrderPage, error) {
	seesCustomers := by.Principal.HasScope(Customers)
	ids := make([]int64, len(page.Items))
	for i, order := range page.Items {
		ids[i] = order.PetID
	}
	petsByID := map[int64]*Pet{}
	if len(ids) > 0 {
		pets, err := tx.Pets(PetList{PetFilter: PetFilter{IDs: ids}, PageRequest: PageRequest{Limit: len(ids)}})
		if err != nil {
			return OrderPage{}, err
		}
		for _, pet := range pets {
			petsByID[pet.ID] = &pet
		}
	}
	now, err := tx.Now()
	views := make([]OrderView, len(page.Items))
	for i, order := range page.Items {
		views[i] = OrderView{order.ForKey(seesCustomers), petsByID[order.PetID]}
	}
	return OrderPage{Page[OrderView]{Items: views, More: page.More, Stopped: page.Stopped}, now}, err
}

// KeyNames returns a map from event actors to the names of the keys that the actors refer to. It leaves out
// actors that are not keys, and keys that were revoked so long ago that the events about them were removed.
func (s *Service) KeyNames(ctx context.Context, actors []string) (map[string]string, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (map[string]string, error) {
		names := map[string]string{}
		for _, actor := range actors {
			id, ok := keyOf(actor)
			if _, done := names[actor]; !ok || done {
				continue
			}
			key, found, err := tx.Key(id)
			if err != nil {
				return nil, err
			}
			if !found {
				key.Name, err = lastName(tx, Key{ID: id})
			}
			if err != nil {
				return nil, err
			}
			if key.Name != "" {
				names[actor] = key.Name
			}
		}
		return names, nil
	})
}

// CategoriesByID returns a map from ids to categories for the given ids. It leaves out unknown ids.
func (s *Service) CategoriesByID(ctx context.Context, ids []int64) (map[int64]Category, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (map[int64]Category, error) { return categoriesByID(tx, ids) })
}
