package shop

import (
	"context"
	"slices"
	"time"
)

// PetView is an animal as the shop's own people see it: with its category's name, and the order that holds it.
type PetView struct {
	Pet
	Category Category
	Order    *Order // nil: none holds it
}

// Transitions are the statuses that the animal can be given by hand now.
func (l PetView) Transitions() []Status {
	if l.Order != nil {
		return nil
	}
	return l.Status.Transitions()
}

// ListPetViews returns one page of the catalogue, newest first.
func (s *Service) ListPetViews(ctx context.Context, list PetList) (Page[PetView], error) {
	return readCurrent(ctx, s, func(tx ReadTx) (Page[PetView], error) {
		page, err := pageOf(list.PageRequest, func(w PageRequest) ([]Pet, error) { return tx.Pets(PetList{list.PetFilter, w}) })
		if err != nil {
			return Page[PetView]{}, err
		}
		listings, err := petViews(tx, page.Items)
		return Page[PetView]{listings, page.More}, err
	})
}

// PetView returns one animal, or not_found.
func (s *Service) PetView(ctx context.Context, id int64) (PetView, error) {
	return readCurrent(ctx, s, func(tx ReadTx) (PetView, error) {
		pet, err := existingPet(tx, id)
		if err != nil {
			return PetView{}, err
		}
		listings, err := petViews(tx, []Pet{pet})
		if err != nil {
			return PetView{}, err
		}
		return listings[0], nil
	})
}

// petViews adds what belongs to some animals, with one question for all of them.
func petViews(tx ReadTx, pets []Pet) ([]PetView, error) {
	var ids, used []int64
	for _, pet := range pets {
		if pet.Status == Pending { // what an order holds always is
			ids = append(ids, pet.ID)
		}
		if !slices.Contains(used, pet.CategoryID) {
			used = append(used, pet.CategoryID)
		}
	}
	orders, err := tx.OpenOrders(ids)
	if err != nil {
		return nil, err
	}
	holding := map[int64]*Order{}
	for _, order := range orders {
		holding[order.PetID] = &order
	}
	categories, err := categoriesByID(tx, used)
	if err != nil {
		return nil, err
	}
	listings := make([]PetView, len(pets))
	for i, pet := range pets {
		listings[i] = PetView{pet, categories[pet.CategoryID], holding[pet.ID]}
	}
	return listings, nil
}

func categoriesByID(tx ReadTx, ids []int64) (map[int64]Category, error) {
	found, err := tx.CategoriesByID(ids)
	categories := map[int64]Category{}
	for _, category := range found {
		categories[category.ID] = category
	}
	return categories, err
}

// OrderView is an order as the shop's own people see it: with the animal, if it is still there.
type OrderView struct {
	Order
	Pet *Pet
}

// OrderPage is one page of orders, as they were at a time of the clock by which holds run out.
type OrderPage struct {
	Page[OrderView]
	Now time.Time
}

// ListOrderViews returns one page of the orders, newest first.
func (s *Service) ListOrderViews(ctx context.Context, list OrderList) (OrderPage, error) {
	return readCurrent(ctx, s, func(tx ReadTx) (OrderPage, error) {
		page, err := pageOf(list.PageRequest, func(w PageRequest) ([]Order, error) { return tx.Orders(OrderList{list.Status, list.PetID, w}) })
		if err != nil {
			return OrderPage{}, err
		}
		return orderPage(tx, page)
	})
}

// ListExpiringHolds returns the orders whose holds run out first, of those that run out within a time.
func (s *Service) ListExpiringHolds(ctx context.Context, within time.Duration) (OrderPage, error) {
	return readCurrent(ctx, s, func(tx ReadTx) (OrderPage, error) {
		now, err := tx.Now()
		if err != nil {
			return OrderPage{}, err
		}
		orders, err := tx.DueOrders(now.Add(within))
		if err != nil {
			return OrderPage{}, err
		}
		return orderPage(tx, Page[Order]{Items: orders})
	})
}

// orderPage adds the animals to some orders, with one question for all of them.
func orderPage(tx ReadTx, page Page[Order]) (OrderPage, error) {
	ids := make([]int64, len(page.Items))
	for i, order := range page.Items {
		ids[i] = order.PetID
	}
	animals := map[int64]*Pet{}
	if len(ids) > 0 {
		pets, err := tx.Pets(PetList{PetFilter{IDs: ids}, PageRequest{Limit: len(ids)}})
		if err != nil {
			return OrderPage{}, err
		}
		for _, pet := range pets {
			animals[pet.ID] = &pet
		}
	}
	now, err := tx.Now()
	listings := make([]OrderView, len(page.Items))
	for i, order := range page.Items {
		listings[i] = OrderView{order, animals[order.PetID]}
	}
	return OrderPage{Page[OrderView]{listings, page.More}, now}, err
}

// KeyNames returns what the keys are called that some actors of events stand for. Those that were revoked are not there.
func (s *Service) KeyNames(ctx context.Context, actors []string) (map[string]string, error) {
	return read(ctx, s, func(tx ReadTx) (map[string]string, error) {
		names := map[string]string{}
		for _, actor := range actors {
			id, ok := keyOf(actor)
			if _, known := names[actor]; !ok || known {
				continue
			}
			key, found, err := tx.Key(id)
			if err != nil {
				return nil, err
			}
			if found {
				names[actor] = key.Name
			}
		}
		return names, nil
	})
}

// CategoriesByID returns those categories of some ids that there are.
func (s *Service) CategoriesByID(ctx context.Context, ids []int64) (map[int64]Category, error) {
	return read(ctx, s, func(tx ReadTx) (map[int64]Category, error) { return categoriesByID(tx, ids) })
}

// History returns one page of the events of an animal, newest first: as far as they are kept.
func (s *Service) History(ctx context.Context, petID int64, w PageRequest) (Page[Event], error) {
	if err := s.store.Publish(ctx); err != nil { // so that all that was answered before is told
		return Page[Event]{}, err
	}
	return read(ctx, s, func(tx ReadTx) (Page[Event], error) {
		filter := EventFilter{Subject: Pet{ID: petID}.subject(), Newest: true}
		return pageOf(w, func(w PageRequest) ([]Event, error) { return s.events(tx, filter, w) })
	})
}
