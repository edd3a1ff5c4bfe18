package shop

import (
	"context"
	"sync"
	"time"
)

// RunJobs runs the background jobs until the context ends and then runs each of them one last time. If a job
// fails, the error is passed to report and the job runs again at its next interval. report may be called
// concurrently.
func (s *Service) RunJobs(ctx context.Context, report func(error)) {
	var wg sync.WaitGroup
	for _, job := range []struct {
		every time.Duration
		wake  <-chan struct{} // a value from this channel starts the job early; may be nil
		pause time.Duration   // the minimum time between two runs
		run   func(context.Context) error
	}{
		// A due hold must expire within a second, and every node must see an event within a second.
		{500 * time.Millisecond, nil, 0, s.ExpireHolds},
		{maxPullInterval, s.store.Wakeups(), minPullInterval, s.pullEvents},
		{500 * time.Millisecond, nil, 0, s.RefreshSettings}, // every node must use new settings within a second
		{20 * time.Second, nil, 0, s.SaveLastUses},          // lastUsedAt must be accurate to within a minute
		{time.Minute, nil, 0, s.PruneIdempotencyRecords},
		{time.Minute, nil, 0, s.RemoveEvents},
		{time.Minute, nil, 0, s.PurgePhotos},
		{time.Minute, nil, 0, s.EraseOldCustomers},
		{time.Minute, nil, 0, s.RemoveDeliveries},
		{time.Minute, nil, 0, s.RemoveSessions},
		{10 * time.Second, nil, 0, s.Maintain},
		// A long interval leads to fewer, larger batches, which write fewer pages. But as many texts must not wait as make
		// writes index their own texts, even if clients add ten thousand in a second. This job gets ctx itself, so that it
		// begins no further step after ctx has ended.
		{time.Second / 2, s.indexing.again, 0, func(context.Context) error { return s.IndexSearch(ctx) }},
		{2 * time.Second, nil, 0, s.SummarizeEvents},
		{2 * time.Second, nil, 0, s.FoldCounts},
	} {
		wg.Go(func() {
			ticker := time.NewTicker(job.every)
			defer ticker.Stop()
			for done := false; !done; {
				select {
				case <-ticker.C:
				case <-job.wake:
				case <-ctx.Done():
				}
				done = ctx.Err() != nil
				if err := job.run(context.WithoutCancel(ctx)); err != nil {
					report(err)
				}
				time.Sleep(job.pause)
			}
		})
	}
	wg.Wait()
}

// Maintain runs the store's internal maintenance in small transactions.
func (s *Service) Maintain(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		now, err := tx.Now()
		if err != nil {
			return false, err
		}
		return tx.Maintain(now)
	})
}
