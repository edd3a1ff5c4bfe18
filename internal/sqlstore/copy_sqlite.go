package sqlstore

import "context"

// copySQLite takes the write lock of the file, as source and as target. The lock file keeps out other
// services; this lock keeps out commands that work beside a service, such as those for keys.
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
	lasting := context.WithoutCancel(ctx) // next fails when the context ends
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
