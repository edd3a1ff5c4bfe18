package shop

import "context"

// Inventory is the number of animals with each status. Unspecified is the number of animals whose status was
// never set.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"`
}

// Inventory returns the number of animals with each status.
func (s *Service) Inventory(ctx context.Context) (Inventory, error) {
	return readCurrent(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (Inventory, error) { return tx.Inventory() })
}

// Total returns the number of animals with any status.
func (i Inventory) Total() int64 { return i.Available + i.Pending + i.Sold + i.Unspecified }
