package sqlstore

import (
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/postgres"
)

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

// ProfileColumns are the columns for a SELECT statement from the table profiles AS profile, and ScanProfile reads them.
// Of the pet, they contain only the id.
var ProfileColumns = "profile.id, '', 0, '', " + profileColumns

// ScanProfile reads a row with ProfileColumns.
func ScanProfile(scan Scanner) (shop.Profile, error) { return scanProfiles()(scan) }

// DerivedTables are the tables whose contents can be derived from other tables: the summaries of events, the counts of
// pets, and the search index without its progress. They are not copied with a store.
var DerivedTables = append(searchTables(), "event_blocks", "pet_counts", "inventory")

// searchTables returns the tables of the search index.
func searchTables() (names []string) {
	for _, list := range searchables {
		names = append(names, list.Index, list.Changes)
	}
	return names
}

// SearchProgressTable is the table that says up to which position each list has been indexed.
const SearchProgressTable = "search_progress"

// LostRows returns one query for each queue on PostgreSQL. The query counts the rows that the service would never read.
// Its result is the name of the queue and the number of these rows. The result is empty if there are none.
func LostRows() (queries []string) {
	queues := []string{"event_inbox", "pet_count_changes"}
	for _, list := range searchables {
		queues = append(queues, list.Changes)
	}
	for _, queue := range queues {
		queries = append(queries, postgres.LostRows(queue))
	}
	return queries
}
