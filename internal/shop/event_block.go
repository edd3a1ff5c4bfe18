package shop

import (
	"context"
	"time"
)

// EventBlock summarizes the events whose position is greater than After and at most Last. The earliest time is not
// always that of the first event, because a clock may have been set back, and servers may have different clocks.
type EventBlock struct {
	After, Last      int64
	Earliest, Latest time.Time
	Actors           []string // the distinct actors, or nil if there are too many
}

// summaryBatches is the maximum number of batches in one run of SummarizeEvents. It limits how long the last run can
// delay the end of the program.
const summaryBatches = 100

// SummarizeEvents stores summaries of new events, so that a query that filters events by actor or time can skip the
// blocks in which no event matches. Events that are not summarized yet are compared with filters one by one. The
// summaries are not updated when an event is created, because that would slow down every write. For the same reason,
// SummarizeEvents reads the events in a separate transaction, for which no write has to wait.
func (s *Service) SummarizeEvents(ctx context.Context) error {
	for range summaryBatches {
		blocks, err := read(ctx, s, Reading{}, ReadTx.NextEventBlocks)
		if err != nil || len(blocks) == 0 {
			return err
		}
		if err := s.bookkeep(ctx, func(tx BookkeepingTx) error { return tx.AddEventBlocks(blocks) }); err != nil {
			return err
		}
	}
	return nil
}
