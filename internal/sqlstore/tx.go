package sqlstore

import (
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/wordindex"
)

// tx is a transaction of one read, or of one write that runs alone. It implements shop.ReadTx and shop.WriteTx. The
// methods for each resource are in the file that is named after the resource.
type tx struct {
	*engine.Tx
	dialect *dialect
	touched engine.Touched
	// texts contains the rows whose texts the transaction has changed. It is nil unless the transaction indexes them.
	texts map[*wordindex.List][]int64
	// categories contains the ids of categories that are known to exist. It is used only if dialect.deferredKeys is set.
	categories map[int64]bool
}

// What a write may have changed.
const (
	touchedCatalog engine.Touched = 1 << iota // animals
	touchedOrders
	touchedWindow // what the shop window shows
)

// Scanner reads the columns of the current row into variables.
type Scanner = engine.Scanner

func all[T any](t *tx, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	return engine.AllUpTo(t.Tx, 0, scan, query, args...)
}

func one[T any](t *tx, scan func(Scanner) (T, error), query string, args ...any) (T, bool, error) {
	return engine.One(t.Tx, scan, query, args...)
}

func scanValue[T any](scan Scanner) (T, error) { return engine.ScanValue[T](scan) }

// nullable returns nil, which is stored as NULL, if value is the zero value. Otherwise it returns value.
func nullable[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}
