// Package wordindex is a search index for texts in tables. A text is found by any parts of its words. The index has a row
// for each gram, which is a sequence of three code points, and each block of ids. It knows texts and ids, and not what
// they mean. Its tables are filled by triggers, which queue changed texts, and by a job, which indexes them.
package wordindex

import "math"

// List is a table whose texts can be searched. Several lists may have the same table, with a column each.
type List struct {
	Name    string // identifies the list in the table search_progress
	Table   string // the table that contains the list
	Text    string // the column that is searched; it may be NULL
	Index   string // the table with the search index
	Changes string // the table with the rows that have changed since they were indexed
}

// Index is the search index of some lists.
type Index struct {
	lists      []*List
	fold       func(text string) string
	statements statements
	shared     bool
	// maxPostings is the maximum number of postings that WritePart writes in one transaction. It is low for SQLite,
	// because all other writes wait for the transaction.
	maxPostings int
	signatures  map[*List]*signatures
}

// OnSQLite returns the index of lists in a SQLite file. fold normalizes a text before it is indexed.
func OnSQLite(lists []*List, fold func(string) string) *Index {
	return &Index{lists: lists, fold: fold, statements: sqliteStatements{}, maxPostings: 500, signatures: newSignatures(lists)}
}

// OnPostgres is like OnSQLite, for a PostgreSQL server.
func OnPostgres(lists []*List, fold func(string) string, w Watermarks) *Index {
	return &Index{lists: lists, fold: fold, statements: postgresStatements{w}, shared: true, maxPostings: math.MaxInt, signatures: newSignatures(lists)}
}

// Shared reports whether several nodes take turns in maintaining the index.
func (x *Index) Shared() bool { return x.shared }

// Watermarks returns parts of statements for the tables of changes on PostgreSQL, which are queues with a low watermark.
type Watermarks struct {
	Waiting func(queue string) string            // a table expression for the rows in a queue
	From    func(queue string) string            // the condition that a row is not below the watermark
	Move    func(queue, condition string) string // common table expressions that move the watermark
}

// gramsOf folds a text from a row and returns its grams.
func (x *Index) gramsOf(text string) []int64 { return grams(x.fold(text)) }
