package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/sqlstore/engine"
)

// A queue is a table whose rows are deleted soon after they are inserted, because they are moved to another table. While
// any transaction holds a snapshot, such as a backup that takes hours, the server keeps the deleted rows. A query that
// looks for new rows from the beginning would read all of them.
//
// So every row contains the id of the transaction that inserted it, and each queue has a low watermark in queue_marks.
// The watermark is a transaction id: only rows with this id or a higher one can be waiting. When a transaction has moved
// all rows that it can see, the watermark becomes the id of the oldest transaction that was running when its snapshot was
// taken (xmin). Every transaction with a lower id had ended by then. Its rows were visible and have been moved, and it
// will insert no others. A transaction that only reads, such as a backup, has no id and does not hold back the watermark.
//
// A watermark remains valid after a crash. The server may then assign some transaction ids a second time, but only ids
// above that of the transaction that stored the watermark, and this id is not lower than the watermark.

// WaitingRows returns a table expression for the rows in a queue. OFFSET 0 makes PostgreSQL plan this expression
// separately, so that it uses the index on xid, whatever order the whole query needs.
func WaitingRows(queue string) string {
	return "(SELECT * FROM " + queue + " WHERE " + FromWatermark(queue) + " OFFSET 0) AS " + queue
}

// FromWatermark returns the condition that a row is not below the watermark of its queue.
func FromWatermark(queue string) string {
	return "xid >= coalesce((SELECT xid FROM queue_marks WHERE queue = '" + queue + "' ORDER BY id DESC LIMIT 1), '0')"
}

// LostRows returns a query for the rows below the watermark of a queue, because nobody would ever read these rows. Its
// result is the name of the queue and the number of these rows. The result is empty if there are none.
func LostRows(queue string) string {
	return "SELECT '" + queue + "', count(*) FROM " + queue + " WHERE NOT " + FromWatermark(queue) + " HAVING count(*) > 0"
}

// MoveWatermark returns common table expressions that store a new watermark if the condition is true. The condition must
// imply that the statement has moved all rows that it can see. The new watermark is a new row. If one row were updated
// again and again, every query would have to read its old versions as well.
func MoveWatermark(queue, condition string) string {
	return `unmarked AS (
		DELETE FROM queue_marks WHERE queue = '` + queue + `' AND ` + condition + `
		AND id = (SELECT id FROM queue_marks WHERE queue = '` + queue + `' ORDER BY id DESC LIMIT 1)
	), marked AS (
		INSERT INTO queue_marks (queue, xid) SELECT '` + queue + `', pg_snapshot_xmin(pg_current_snapshot()) WHERE ` + condition + `
	)`
}

// dropForeignWatermarks deletes watermarks that were set on another server. Such watermarks come with a restored dump.
// They are wrong here, because transaction ids may be lower on this server.
func (e *Engine) dropForeignWatermarks(ctx context.Context) error {
	const foreign = " FROM queue_marks WHERE xid > pg_snapshot_xmin(pg_current_snapshot())"
	return e.retry(ctx, ctx, engine.WriteOptions{Timeout: startTimeout}, func(ctx context.Context) error {
		return e.withConn(ctx, func(conn *pgx.Conn) error {
			var id int64
			found, err := engine.FirstRow(ctx, connection{conn}, "SELECT id"+foreign+" LIMIT 1", &id)
			if err != nil || !found {
				return err
			}
			_, err = conn.Exec(ctx, "DELETE"+foreign)
			return err
		})
	})
}
