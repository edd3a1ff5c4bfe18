package engine

import "context"

// Batch is a list of statements that are executed in order. PostgreSQL gets all of them in one round trip.
type Batch struct{ Statements []Statement }

// Statement is one statement of a batch: an INSERT of rows if Into is set, a query if Each is set, and any other
// statement otherwise.
type Statement struct {
	Query string
	Args  []any
	Each  func(Scanner) error // called for each row of the result

	Into      *Insertion
	N         int                             // the number of rows to insert
	AppendRow func(args []any, row int) []any // appends the values of one row
}

// Writer writes rows. A Tx executes the statements at once, and a Batch collects them.
type Writer interface {
	Exec(query string, args ...any) error
	Insert(into *Insertion, n int, appendRow func(args []any, row int) []any) error
}

// Exec adds a statement. It returns nil.
func (b *Batch) Exec(query string, args ...any) error {
	b.Statements = append(b.Statements, Statement{Query: query, Args: args})
	return nil
}

// Insert adds an INSERT of n rows, unless n is 0. appendRow appends the values of one row to args. It returns nil.
func (b *Batch) Insert(into *Insertion, n int, appendRow func(args []any, row int) []any) error {
	if n > 0 {
		b.Statements = append(b.Statements, Statement{Into: into, N: n, AppendRow: appendRow})
	}
	return nil
}

// Query adds a query to a batch. found is called for each row of its result, converted by scan.
func Query[T any](b *Batch, scan func(Scanner) (T, error), found func(T), query string, args ...any) {
	b.Statements = append(b.Statements, Statement{Query: query, Args: args, Each: func(columns Scanner) error {
		value, err := scan(columns)
		if err == nil {
			found(value)
		}
		return err
	}})
}

// Run executes the statements one by one and stops at the first error.
func (b *Batch) Run(ctx context.Context, c Conn) error {
	for i := range b.Statements {
		s := &b.Statements[i]
		var err error
		switch {
		case s.Into != nil:
			err = c.Insert(ctx, s.Into, s.N, s.AppendRow)
		case s.Each != nil:
			err = EachRow(ctx, c, s.Query, s.Args, s.Each)
		default:
			err = c.Exec(ctx, s.Query, s.Args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
