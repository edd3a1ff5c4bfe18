package shop

import (
	"context"
	"sync"
	"time"
)

// RunJobs does what has to be done from time to time, until the context ends, and then once more. What could not be done is
// reported and tried again.
func (s *Service) RunJobs(ctx context.Context, report func(error)) {
	var wg sync.WaitGroup
	for _, chore := range []struct {
		every  time.Duration
		sooner <-chan struct{}
		rest   time.Duration // at least, before the next time
		do     func(context.Context) error
	}{
		{500 * time.Millisecond, nil, 0, s.ExpireHolds},                         // a hold that is over ends within a second
		{250 * time.Millisecond, s.store.Wakeups(), pullInterval, s.pullEvents}, // an event is told within a second, on every node
		{20 * time.Second, nil, 0, s.SaveLastUsed},                              // a last use is exact to a minute
		{time.Minute, nil, 0, s.PruneIdempotencyRecords},
		{time.Minute, nil, 0, s.RemoveEvents},
		{time.Minute, nil, 0, s.RemoveDeliveries},
		{time.Minute, nil, 0, s.RemoveSessions},
		{10 * time.Second, nil, 0, s.Maintain},
		{10 * time.Second, nil, 0, s.CheckClock},
	} {
		wg.Go(func() {
			ticker := time.NewTicker(chore.every)
			defer ticker.Stop()
			var last string // what went wrong is told once, not every time
			for over := false; !over; {
				select {
				case <-ticker.C:
				case <-chore.sooner:
				case <-ctx.Done():
				}
				over = ctx.Err() != nil
				err := chore.do(context.WithoutCancel(ctx))
				if err != nil && err.Error() != last {
					report(err)
				}
				last = ""
				if err != nil {
					last = err.Error()
				}
				time.Sleep(chore.rest)
			}
		})
	}
	wg.Wait()
}

// internalRetention is how long the store needs what it notes for itself: many times as long as a write goes on.
const internalRetention = time.Hour

// Maintain lets the store do its housekeeping, a part at a time: others wait while it happens.
func (s *Service) Maintain(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		over, err := s.cutoff(tx, internalRetention)
		if err != nil {
			return false, err
		}
		return tx.Maintain(over)
	})
}
