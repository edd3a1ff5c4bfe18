package shop

import (
	"context"
	"sync"
	"time"
)

// Work does what has to be done from time to time, until the context ends, and then once more. What could not be done is
// reported and tried again.
func (s *Service) Work(ctx context.Context, report func(error)) {
	var wg sync.WaitGroup
	for _, chore := range []struct {
		every time.Duration
		do    func(context.Context) error
	}{
		{500 * time.Millisecond, s.ExpireHolds}, // a hold that is over ends within a second
		{20 * time.Second, s.SaveUses},          // a last use is exact to a minute
		{time.Minute, s.ForgetAnswers},
		{10 * time.Second, func(ctx context.Context) error { return s.store.Write(ctx, WriteTx.Tidy) }},
	} {
		wg.Go(func() {
			ticker := time.NewTicker(chore.every)
			defer ticker.Stop()
			var last string // what went wrong is told once, not every time
			for ctx.Err() == nil {
				select {
				case <-ticker.C:
				case <-ctx.Done():
				}
				err := chore.do(context.WithoutCancel(ctx))
				if err != nil && err.Error() != last {
					report(err)
				}
				last = ""
				if err != nil {
					last = err.Error()
				}
			}
		})
	}
	wg.Wait()
}
