package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// A queue is a PostgreSQL table whose rows are deleted soon after they are inserted, because they are moved to
// another table. The queues are event_inbox, pet_count_changes and the tables of changes for the search index. While
// any transaction holds a snapshot, such as a backup that takes hours, the server keeps the deleted rows. A query
// that looks for new rows from the beginning would read all of them.
//
// So every row contains the id of the transaction that inserted it, and each queue has a mark. The mark is a
// transaction id: only rows with this id or a higher one can be waiting. When a transaction has moved all rows that
// it can see, the mark becomes the id of the oldest transaction that was running when its snapshot was taken (xmin).
// Every transaction with a lower id had ended by then. Its rows were visible and have been moved, and it will insert
// no others. A transaction that only reads, such as a backup, has no id and does not hold back the mark.
//
// A mark remains valid after a crash. The server may then assign some transaction ids a second time, but only ids
// above that of the transaction that stored the mark, and this id is not lower than the mark.

// waitingRows returns a table expression for the rows in a queue. OFFSET 0 makes PostgreSQL plan this expression
// separately, so that it uses the index on xid, whatever order the whole query needs.
func waitingRows(queue string) string {
	return "(SELECT * FROM " + queue + " WHERE " + fromMark(queue) + " OFFSET 0) AS " + queue
}

// fromMark returns the condition that a row is not before the mark of its queue.
func fromMark(queue string) string {
	return "xid >= coalesce((SELECT xid FROM queue_marks WHERE queue = '" + queue + "' ORDER BY id DESC LIMIT 1), '0')"
}

// LostRows returns one query for each queue. The query counts the rows before the queue's mark, because the service
// would never read these rows. Its result is the name of the queue and the number of these rows. The result is empty if
// there are none.
func LostRows() (queries []string) {
	for _, queue := range []string{"event_inbox", "pet_count_changes", petNames.changes, orderReferences.changes} {
		queries = append(queries, "SELECT '"+queue+"', count(*) FROM "+queue+" WHERE NOT "+fromMark(queue)+" HAVING count(*) > 0")
	}
	return queries
}

// moveMark returns common table expressions that store a new mark if the condition is true. The condition must imply
// that the statement has moved all rows that it can see. The new mark is a new row. If one row were updated again and
// again, every query would have to read its old versions as well.
func moveMark(queue, condition string) string {
	return `unmarked AS (
		DELETE FROM queue_marks WHERE queue = '` + queue + `' AND ` + condition + `
		AND id = (SELECT id FROM queue_marks WHERE queue = '` + queue + `' ORDER BY id DESC LIMIT 1)
	), marked AS (
		INSERT INTO queue_marks (queue, xid) SELECT '` + queue + `', pg_snapshot_xmin(pg_current_snapshot()) WHERE ` + condition + `
	)`
}

// checkMarks deletes marks that were set on another server. Such marks come with a restored dump. They are wrong here,
// because transaction ids may be lower on this server.
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
