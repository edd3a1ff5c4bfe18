package storeadmin

import "strings"

// copiedTable describes a table that Copy copies.
type copiedTable struct {
	name        string
	key         int // the number of leading columns that form the primary key
	columns     []copiedColumn
	hasSequence bool // whether the engine assigns the ids in this table and stores the last one
}

type copiedColumn struct {
	name string
	kind kind
}

// kind is the type of a column. Each engine has its own name for each type.
type kind int

const (
	integer kind = iota
	text
	blob
)

// copiedTables lists all tables in a store. Each table comes after the tables that it refers to. The settings come
// first, because every process that opens the target as a new store writes to them. Such a process therefore waits
// until the copy ends. A test compares this list with the schemas.
var copiedTables = []copiedTable{
	{name: "settings", key: 1, columns: []copiedColumn{{"name", text}, {"value", text}}},
	{name: "categories", key: 1, columns: []copiedColumn{{"id", integer}, {"name", text}, {"name_key", text}}},
	{name: "pets", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"name", text}, {"category_id", integer}, {"status", text}, {"published", integer},
		{"status_changes", integer}, {"name_key", text}}},
	{name: "profiles", key: 1, columns: []copiedColumn{
		{"id", integer}, {"removed", integer}, {"published", integer}, {"breed", text}, {"second_breed", text}, {"mixed", integer},
		{"sex", text}, {"birth_date", text}, {"birth_date_estimated", integer}, {"size", text}, {"color", text}, {"price", text},
		{"currency", text}, {"arrival_date", text}, {"traits", text}, {"tags", text}, {"contact_url", text}, {"microchip", text},
		{"location", text}, {"updated_at", integer}, {"description", text}, {"notes", text}, {"photos", text},
		{"photos_removed_at", integer}}},
	{name: "profile_tags", key: 2, columns: []copiedColumn{{"tag", text}, {"id", integer}}},
	{name: "pet_periods", key: 1, columns: []copiedColumn{{"begins_at", integer}, {"arrivals", integer}, {"sales", integer}}},
	{name: "orders", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"pet_id", integer}, {"status", text}, {"reference", text}, {"created_at", integer},
		{"updated_at", integer}, {"hold_expires_at", integer}, {"changed_at", integer}, {"status_before", text},
		{"hold_before", integer}, {"pet_status_changes", integer}, {"is_undo", integer}, {"pickup_date", text},
		{"price", text}, {"currency", text}, {"customer", text}}},
	{name: "keys", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"name", text}, {"scopes", text}, {"hint", text}, {"created_at", integer}, {"expires_at", integer},
		{"last_used_at", integer}}},
	{name: "key_secrets", key: 1, columns: []copiedColumn{{"hash", blob}, {"key_id", integer}, {"ends_at", integer}}},
	{name: "sessions", key: 1, columns: []copiedColumn{
		{"hash", blob}, {"secret_hash", blob}, {"ends_at", integer}, {"created_at", integer}, {"last_seen_at", integer}, {"device", text}}},
	{name: "sign_in_links", key: 1, columns: []copiedColumn{{"hash", blob}, {"secret_hash", blob}, {"ends_at", integer}}},
	{name: "idempotency_records", key: 2, columns: []copiedColumn{
		{"principal", integer}, {"key", text}, {"fingerprint", blob}, {"status", integer}, {"header", text}, {"body", blob},
		{"kept_at", integer}}},
	{name: "events", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"at", integer}, {"type", text}, {"subject", text}, {"actor", text}, {"data", text}}},
	{name: "webhooks", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"url", text}, {"types", text}, {"enabled", integer}, {"disabled_reason", text},
		{"failing_since", integer}, {"created_at", integer}, {"updated_at", integer}, {"position", integer},
		{"leased_until", integer}, {"accepted_at", integer}, {"failures", text}, {"probe_at", integer}}},
	{name: "webhook_secrets", key: 2, columns: []copiedColumn{
		{"webhook_id", integer}, {"secret", text}, {"created_at", integer}, {"ends_at", integer}}},
	{name: "webhook_deliveries", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"webhook_id", integer}, {"message_id", text}, {"event_id", text}, {"event_type", text},
		{"status", text}, {"attempts", text}, {"created_at", integer}, {"next_at", integer}, {"body", text}}},
	{name: "photo_files", key: 2, columns: []copiedColumn{{"name", text}, {"size", text}, {"pet_id", integer}, {"content", blob}}},
	{name: "published_pets", key: 1, columns: []copiedColumn{{"id", integer}}},
}

func (t *copiedTable) columnNames() []string {
	names := make([]string, len(t.columns))
	for i, column := range t.columns {
		names[i] = column.name
	}
	return names
}

// selection returns the query for all rows in primary key order. The periods and the events need special
// queries because the engines store counts and unpublished events differently.
func (t *copiedTable) selection(e *engine) string {
	query := "SELECT " + strings.Join(t.columnNames(), ", ") + " FROM " + t.name
	switch t.name {
	case "pet_periods":
		query = "SELECT begins_at, CAST(sum(arrivals) AS BIGINT), CAST(sum(sales) AS BIGINT) FROM " + e.counts.Periods + " GROUP BY begins_at"
	case "events":
		query = e.events
	}
	var order []string
	for _, column := range t.columns[:t.key] {
		if column.kind == text {
			column.name += e.collation
		}
		order = append(order, column.name)
	}
	return query + " ORDER BY " + strings.Join(order, ", ")
}
