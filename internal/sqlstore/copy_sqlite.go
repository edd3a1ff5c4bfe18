package sqlstore

import "context"

// copySQLite takes the file's write lock at both ends. The lock beside the file keeps other services out; this one keeps
// out commands that work beside a service, such as those for keys.
var copySQLite = copyEngine{
	read:  "BEGIN IMMEDIATE",
	write: []string{"BEGIN IMMEDIATE"},
	last:  "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '%[1]s'",
	goOnAfter: []string{
		"DELETE FROM sqlite_sequence WHERE name = '%[1]s'",
		"INSERT INTO sqlite_sequence (name, seq) SELECT '%[1]s', %[2]d WHERE %[2]d > 0",
	},
	insert: insertSQLite,
}

func insertSQLite(ctx context.Context, s session, table *copiedTable, next func() ([]any, error)) error {
	insertion := table.insertion()
	// The reader notices when the caller goes away.
	lasting := context.WithoutCancel(ctx)
	for {
		row, err := next()
		if err != nil || row == nil {
			return err
		}
		if err := s.exec(lasting, insertion, row); err != nil {
			return err
		}
	}
}
