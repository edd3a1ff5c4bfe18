package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// A queue is a table on a PostgreSQL server whose rows are deleted soon after they were inserted, because they
// have been moved to another table: event_inbox, inventory_changes and the tables of changes for the search
// index. While any transaction holds a snapshot, such as a backup that takes hours, the server keeps the deleted
// rows, and a query that looks for new rows from the beginning would read all of them.
//
// So every row contains the id of the transaction that inserted it, and the mark of the queue is a transaction
// id from which on the queue can contain rows. When a transaction has moved all rows that it can see, the
// oldest transaction that was running when its snapshot was taken (xmin) becomes the mark. Every transaction
// with a lower id had ended, so its rows were visible and have been moved, and it will insert no others. A
// transaction that only reads, such as a backup, has no id and does not hold up the mark.
//
// A mark survives a crash. The server may assign the ids of transactions that it has forgotten again, but only
// ids above that of the transaction that stored the mark, which is not lower than the mark.

// waitingRows is a table expression for the rows in a queue, and maybe for some rows that were moved. OFFSET makes
// PostgreSQL plan it by itself, so that it uses the index on xid, whatever order the whole query needs.
func waitingRows(queue string) string {
	return "(SELECT * FROM " + queue + " WHERE " + fromMark(queue) + " OFFSET 0) AS " + queue
}

// fromMark is the condition for the rows in a queue.
func fromMark(queue string) string {
	return "xid >= coalesce((SELECT xid FROM queue_marks WHERE queue = '" + queue + "' ORDER BY id DESC LIMIT 1), '0')"
}

// LostRows are the queries for the number of rows in each queue that are before its mark, if there are any. The
// service would never read such rows.
func LostRows() (queries []string) {
	for _, queue := range []string{"event_inbox", "inventory_changes", petNames.changes, orderReferences.changes} {
		queries = append(queries, "SELECT '"+queue+"', count(*) FROM "+queue+" WHERE NOT "+fromMark(queue)+" HAVING count(*) > 0")
	}
	return queries
}

// moveMark is a list of common table expressions that store a new mark if the condition holds, which must imply
// that the statement has moved all rows that it can see. The new mark gets a row of its own, because the
// old versions of a row that is updated again and again would have to be read as well.
func moveMark(queue, condition string) string {
	return `unmarked AS (
		DELETE FROM queue_marks WHERE queue = '` + queue + `' AND ` + condition + `
		AND id = (SELECT id FROM queue_marks WHERE queue = '` + queue + `' ORDER BY id DESC LIMIT 1)
	), marked AS (
		INSERT INTO queue_marks (queue, xid) SELECT '` + queue + `', pg_snapshot_xmin(pg_current_snapshot()) WHERE ` + condition + `
	)`
}

// checkMarks deletes marks that are not from this server. Such marks come with a dump that was restored on another
// server, where transaction ids may be lower.
func (p *postgresEngine) checkMarks(ctx context.Context) error {
	return p.withConn(ctx, func(conn *pgx.Conn) error {
		const foreign = " FROM queue_marks WHERE xid > pg_snapshot_xmin(pg_current_snapshot())"
		var id int64
		found, err := firstRow(ctx, pgxRunner{conn}, "SELECT id"+foreign+" LIMIT 1", &id)
		if err != nil || !found {
			return err
		}
		_, err = conn.Exec(ctx, "DELETE"+foreign)
		return err
	})
}
