package sqlstore

import "animalstore/internal/shop"

// Table describes how to read the rows of a table as values of type T.
type Table[T any] struct {
	Name    string
	Columns string // the columns for a SELECT statement
	Scan    func(Scanner) (T, error)
}

// The tables that contain the shop's resources.
var (
	Pets       = Table[shop.Pet]{"pets", petColumns, scanPet}
	Categories = Table[shop.Category]{"categories", categoryColumns, scanCategory}
	Orders     = Table[shop.Order]{"orders", orderColumns, scanOrder}
	Keys       = Table[shop.Key]{"keys", keyColumns, scanKey}
	Webhooks   = Table[shop.Webhook]{"webhooks", webhookColumns, scanWebhook}
	Events     = Table[shop.StoredEvent]{"events", eventColumns, scanEvent}
)
