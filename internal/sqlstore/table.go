package sqlstore

import "animalstore/internal/shop"

// Table describes how the rows of a resource are read.
type Table[T any] struct {
	Name    string
	Columns string // to select
	Scan    func(Scanner) (T, error)
}

// The tables of the resources.
var (
	Pets       = Table[shop.Pet]{"pets", petColumns, scanPet}
	Categories = Table[shop.Category]{"categories", categoryColumns, scanCategory}
	Orders     = Table[shop.Order]{"orders", orderColumns, scanOrder}
	Keys       = Table[shop.Key]{"keys", keyColumns, scanKey}
	Webhooks   = Table[shop.Webhook]{"webhooks", webhookColumns, scanWebhook}
	Events     = Table[shop.StoredEvent]{"events", eventColumns, scanEvent}
)
