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
	Actors           string // the distinct actors, with a space before and after each, or "" if there are too many
}

// summaryBlocks is the maximum number of blocks in one run of SummarizeEvents. It limits how long the last run can
// delay the end of the program.
const summaryBlocks = 400

// SummarizeEvents stores summaries of new events, so that a query that filters events by actor or time can skip the
// blocks in which no event matches. Events that are not summarized yet are compared with filters one by one. The
// summaries are not updated when an event is created, because that would slow down every write. For the same reason,
// SummarizeEvents reads the events in a separate transaction, for which no write has to wait.
func (s *Service) SummarizeEvents(ctx context.Context) error {
	for range summaryBlocks {
		found := false
		block, err := read(ctx, s, Reading{}, func(tx ReadTx) (block EventBlock, err error) {
			block, found, err = tx.NextEventBlock()
			return block, err
		})
		if err != nil || !found {
			return err
		}
		if err := s.inBackground(ctx, func(tx BookkeepingTx) error { return tx.AddEventBlock(block) }); err != nil {
			return err
		}
	}
	return nil
}
