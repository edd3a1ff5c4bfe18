package client

import "context"

// Inventory holds the number of animals with each status.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"` // the number of animals without a status
}

// Inventory returns the number of animals with each status. It is fast regardless of the number of animals.
func (c *Client) Inventory(ctx context.Context) (inventory Inventory, err error) {
	_, err = c.get(ctx, "/store/inventory", nil, &inventory)
	return inventory, err
}
