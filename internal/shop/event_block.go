package shop

import "context"

// summaryBatches is the maximum number of batches in one run of SummarizeEvents. It limits how long the last run can
// delay the end of the program.
const summaryBatches = 100

// SummarizeEvents summarizes new events in small transactions. Events that are not summarized yet are compared with
// filters one by one. The summaries are not updated when an event is created, because that would slow down every
// write.
func (s *Service) SummarizeEvents(ctx context.Context) error {
	// Check with a read first, because it costs less than a write that finds nothing to do.
	more, err := read(ctx, s, ReadTx.HasUnsummarizedEvents)
	for batch := 0; err == nil && more && batch < summaryBatches; batch++ {
		err = s.bookkeep(ctx, func(tx BookkeepingTx) (err error) {
			more, err = tx.SummarizeEvents()
			return err
		})
	}
	return err
}
