// Package engine contains what the SQLite and the PostgreSQL engine share: transactions, batches of statements, the
// queue of writes that are committed together, and the kinds of errors. An engine runs functions in transactions. It
// does not know what the rows mean.
//
// There are two ways to write. A write that declares its rows runs on a Unit together with other writes: the engine
// loads the rows of all of them, runs them in memory, and saves all changes. Every other write runs alone: its function
// executes statements, and no other write can change what it has read.
package engine

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Engine runs functions in the transactions of one database.
type Engine interface {
	// Read runs fn on one snapshot and returns the stamp of this snapshot. fn may run more than once.
	Read(ctx context.Context, o ReadOptions, fn func(*Tx) error) (Stamp, error)
	// Write runs o.Declared in a group. If o.Declared is nil, or if the unit cannot run it, Write runs the function alone
	// instead, and no other write can change what this function has read. Both may run more than once. If Write returns
	// nil, the write is durable. Write calls Options.AfterWrite before it returns.
	Write(ctx context.Context, o WriteOptions, alone func(*Tx) (Touched, error)) error
	// Ready fails if the database cannot be read, or says that it refuses writes.
	Ready(ctx context.Context) error
	// TryWrite fails if the database cannot be written, for example because its disk is full. It writes ProbeSize bytes
	// and leaves nothing behind.
	TryWrite(ctx context.Context) error
	// HeavyReads returns how many heavy reads may run at the same time, so that connections remain for other reads.
	HeavyReads() int
	// Collectors returns the metrics that only this engine has.
	Collectors() []prometheus.Collector
	// Close waits for the accepted writes and closes the database. Later reads and writes fail with ErrClosed.
	Close() error
}

// ProbeSize is how many bytes TryWrite writes. It is more than a group of MaxGroup writes needs. If it were less, TryWrite
// could succeed on a disk that is too full for the writes of clients.
const ProbeSize = 1 << 20

// Unit contains the rows that the writes of one group have declared, and their changes. The engine makes a new unit
// for each transaction.
type Unit interface {
	// Load adds statements to b that read the rows that the writes have declared and that the unit does not have yet.
	Load(b *Batch, declared []any)
	// Run runs one write on the loaded rows. If it fails or panics, the unit is unchanged. It fails with ErrAlone if
	// the write needs more than it has declared.
	Run(declared any) error
	// Save adds statements to b that write all changes since the last call. It returns what these changes touch.
	Save(b *Batch) Touched
	// Forget drops all rows, because a write that ran alone may have changed them. All changes must have been saved.
	Forget()
}

// ErrAlone marks a write that cannot run on a unit and therefore has to run alone.
var ErrAlone = errors.New("the write has to run alone")

// ReadOptions says what a read needs.
type ReadOptions struct {
	Timeout   time.Duration // how long the read may take, if that is longer than the engine's own timeout
	Single    bool          // whether the read probably executes one query
	Stamped   bool          // whether a stamp is needed
	Versioned bool          // whether the stamp needs a version
	Value     string        // a query for one number that becomes part of the stamp, or ""
}

// WriteOptions says what a write needs.
type WriteOptions struct {
	Timeout  time.Duration // how long the write may take, if that is longer than the engine's own timeout
	Key      string        // writes with different keys take turns
	Priority Priority      // which writes come first; PostgreSQL has many writers and ignores it
	Declared any           // the write as the unit runs it, or nil
	// Erases means that no copy of the rows that the write changes or deletes may remain in files for longer than
	// necessary. PostgreSQL ignores it, because its files are the server's.
	Erases bool
}

// Priority says how urgent a write is.
type Priority int

const (
	Interactive Priority = iota // somebody waits for the write
	Bulk                        // the write does the work of thousands of others, such as an import
	Background                  // nobody waits for the write
)

// Stamp describes the snapshot that a read has used.
type Stamp struct {
	Version Version
	Time    time.Time       // the server's time; zero if the engine has no clock of its own
	Value   sql.Null[int64] // the number that ReadOptions.Value has selected
}

// Version identifies a state of the database. The zero value means that the state is not known.
type Version struct {
	SessionID int64 // identifies the session that can show whether the state has changed; 0 if there is none
	Snapshot  string
}

// Touched is a set of bits that says which kinds of rows a write may have changed. The caller of the engine defines
// their meaning.
type Touched uint32

// Options are the settings of both engines.
type Options struct {
	// Existing makes opening fail if there is no database yet.
	Existing bool
	// Timeout is the maximum time for a read. On PostgreSQL, it is also the maximum time for a write with its retries.
	Timeout time.Duration
	// NewUnit returns an empty unit.
	NewUnit func() Unit
	// AfterWrite is called for each group and for each write that ran alone, before the writes return.
	AfterWrite func(touched Touched, committed bool)
	Metrics    *Metrics
	Spans      *Spans // may be nil
}
