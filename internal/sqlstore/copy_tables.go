package sqlstore

import (
	"fmt"
	"strings"
)

// copiedTable is a table that a copy moves, row by row.
type copiedTable struct {
	name        string
	key         int // so many of the first columns are the primary key
	columns     []copiedColumn
	hasSequence bool // it has an id that only grows, whose last value is kept beside the rows
}

type copiedColumn struct {
	name string
	kind kind
}

// kind is a type that both engines have, each under a name of its own.
type kind int

const (
	integer kind = iota
	text
	blob
)

// copiedTables are all tables of a store, each after those that its rows refer to. The settings come first: whoever else
// would open the target as a new store has to write there, and waits. A test holds them against the schemas.
var copiedTables = []copiedTable{
	{name: "settings", key: 1, columns: []copiedColumn{{"name", text}, {"value", text}}},
	{name: "categories", key: 1, columns: []copiedColumn{{"id", integer}, {"name", text}}},
	{name: "pets", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"name", text}, {"name_folded", text}, {"category_id", integer}, {"status", text}}},
	{name: "inventory", key: 1, columns: []copiedColumn{{"status", text}, {"n", integer}}},
	{name: "orders", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"pet_id", integer}, {"status", text}, {"reference", text}, {"created_at", integer},
		{"updated_at", integer}, {"hold_expires_at", integer}}},
	{name: "keys", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"name", text}, {"scopes", text}, {"hint", text}, {"created_at", integer}, {"expires_at", integer},
		{"last_used_at", integer}}},
	{name: "key_secrets", key: 1, columns: []copiedColumn{{"hash", blob}, {"key_id", integer}, {"ends_at", integer}}},
	{name: "sessions", key: 1, columns: []copiedColumn{{"hash", blob}, {"secret_hash", blob}, {"ends_at", integer}}},
	{name: "kept_answers", key: 2, columns: []copiedColumn{
		{"principal", integer}, {"key", text}, {"fingerprint", blob}, {"status", integer}, {"header", text}, {"body", blob},
		{"kept_at", integer}}},
	{name: "events", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"at", integer}, {"type", text}, {"subject", text}, {"actor", text}, {"data", text}}},
	{name: "webhooks", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"url", text}, {"types", text}, {"enabled", integer}, {"disabled_reason", text},
		{"failing_since", integer}, {"created_at", integer}, {"updated_at", integer}, {"position", integer}}},
	{name: "webhook_secrets", key: 2, columns: []copiedColumn{
		{"webhook_id", integer}, {"secret", text}, {"created_at", integer}, {"ends_at", integer}}},
	{name: "deliveries", key: 1, hasSequence: true, columns: []copiedColumn{
		{"id", integer}, {"webhook_id", integer}, {"message_id", text}, {"event_id", text}, {"event_type", text},
		{"status", text}, {"attempts", text}, {"created_at", integer}, {"next_at", integer}, {"body", text},
		{"claimed_until", integer}}},
}

func (t *copiedTable) columnNames() []string {
	names := make([]string, len(t.columns))
	for i, column := range t.columns {
		names[i] = column.name
	}
	return names
}

// selection is the query for all rows in the order of their primary key; collation is how texts are put in the order of
// their bytes. The inventory and the events are those of the engine, wherever it keeps them.
func (t *copiedTable) selection(d *dialect, collation string) string {
	query := "SELECT " + strings.Join(t.columnNames(), ", ") + " FROM " + t.name
	switch t.name {
	case "inventory":
		query = d.inventory
	case "events":
		query = d.events
	}
	var order []string
	for _, column := range t.columns[:t.key] {
		if column.kind == text {
			column.name += collation
		}
		order = append(order, column.name)
	}
	return query + " ORDER BY " + strings.Join(order, ", ")
}

// fresh is the condition that a row is one of those with which a new schema comes.
func (t *copiedTable) fresh() string {
	if t.name == "inventory" {
		return "n = 0"
	}
	return "FALSE"
}

// insertion is the statement that adds one row.
func (t *copiedTable) insertion() string {
	places := make([]string, len(t.columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.name, strings.Join(t.columnNames(), ", "), strings.Join(places, ", "))
}
