package cli

import (
	"sync"
	"time"
)

// every does something again and again. When stop returns, it does so no more.
func every(pause time.Duration, do func()) (stop func()) {
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				do()
			case <-ended:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(ended)
		running.Wait()
	})
}
