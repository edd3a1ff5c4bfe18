package shop

import "context"

// IsEmpty reports whether the store has no animals, categories, orders or webhooks. Keys and settings do not count.
func (s *Service) IsEmpty(ctx context.Context) (bool, error) {
	return read(ctx, s, Reading{}, IsEmpty)
}

// IsEmpty is like Service.IsEmpty, but in a transaction. A webhook counts, because it would receive the events of
// whatever is added.
func IsEmpty(tx ReadTx) (bool, error) {
	one := PageRequest{Limit: 1}
	pets, err := tx.HasPets()
	if err != nil || pets {
		return false, err
	}
	categories, err := tx.Categories(one)
	if err != nil || len(categories) > 0 {
		return false, err
	}
	webhooks, err := tx.Webhooks(one)
	if err != nil || len(webhooks) > 0 {
		return false, err
	}
	orders, err := tx.Orders(OrderList{PageRequest: one})
	return err == nil && len(orders) == 0, err
}
