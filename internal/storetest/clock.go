package storetest

import (
	"testing"
	"time"

	"animalstore/internal/shop"
)

var clockCases = []testCase{
	{name: "a delivery with a future time is as old as the next one", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		year := 365 * 24 * time.Hour
		var ids []int64
		write(t, store, func(tx shop.WriteTx) error {
			for _, created := range []time.Duration{year, -2 * time.Hour, year, 2 * year, -time.Hour, year, -3 * time.Hour} {
				d, err := tx.InsertDelivery(shop.Delivery{WebhookID: 1, MessageID: "m", EventType: shop.PetCreated,
					Status: shop.DeliveryFailed, CreatedAt: now.Add(created), Body: []byte("{}")})
				if err != nil {
					return err
				}
				ids = append(ids, d.ID)
			}
			return nil
		})
		for _, step := range []struct {
			before time.Duration
			left   int
		}{{-3 * time.Hour, 7}, {-90 * time.Minute, 5}, {-time.Minute, 0}} {
			write(t, store, func(tx shop.WriteTx) error {
				_, err := tx.RemoveDeliveries(now.Add(step.before), now)
				return err
			})
			read(t, store, func(tx shop.ReadTx) error {
				rest, err := tx.Deliveries(shop.DeliveryList{WebhookID: 1, PageRequest: shop.PageRequest{Limit: 10}})
				if len(rest) != step.left || step.left > 0 && rest[step.left-1].ID != ids[7-step.left] {
					t.Errorf("%v: %d deliveries are left of %v", step.before, len(rest), ids)
				}
				return err
			})
		}
	}},
}
