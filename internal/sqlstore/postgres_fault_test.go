package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// While the network is cut, silent or too slow, every read and write fails within a bounded time. Reads and
// writes succeed again after the network has recovered.
func TestBrokenNetworkIsRefusedInBoundedTime(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(*pgtest.Proxy){
		"cut":      (*pgtest.Proxy).Cut,
		"silent":   func(p *pgtest.Proxy) { p.Delay(time.Hour) },
		"too slow": func(p *pgtest.Proxy) { p.Delay(2 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFaultHarness(t)
			h.works("before")
			h.engine().retryBudget = shortBudget
			breakIt(h.proxy)
			outcomes := map[string]error{"before": nil, "after": nil}
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					name := fmt.Sprint("meanwhile ", i)
					err := h.write(name)
					if err == nil {
						t.Errorf("%s was written through a broken network", name)
					}
					mu.Lock()
					defer mu.Unlock()
					outcomes[name] = err
				})
				wg.Go(func() {
					if n, err := h.read("before"); err == nil {
						t.Errorf("%d animals were read through a broken network", n)
					}
				})
			}
			wg.Wait()
			h.engine().retryBudget = ample
			h.proxy.Heal()
			h.works("after")
			checkOutcomes(t, namesAfterLastTransaction(t, h.direct), outcomes)
		})
	}
}

// A moderately slow network delays reads and writes but does not make them fail.
func TestSlowNetworkOnlyDelays(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t)
	h.proxy.Delay(30 * time.Millisecond)
	h.works("slow")
	h.proxy.Delay(0)
	h.works("quick")
	checkOutcomes(t, namesAfterLastTransaction(t, h.direct), map[string]error{"slow": nil, "quick": nil})
}

// The connection breaks during COMMIT, before or after the server has received it. The client cannot tell
// these cases apart, but it can ask the server. The write is done exactly once.
func TestLostCommitIsDoneOnce(t *testing.T) {
	t.Parallel()
	for name, set := range lostCommits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFaultHarness(t)
			disconnected, release := set(h.proxy, pgtest.IsCommit)
			outcome := h.startWrite("lost")
			awaitDisconnect(t, disconnected)
			// In the "late" case, resolveCommit must be waiting for the open transaction before the COMMIT is
			// released.
			if name == "late" {
				h.awaitLockWait()
			}
			release()
			err := outcome()
			if err != nil {
				t.Errorf("the write failed: %v", err)
			}
			h.works("next")
			checkOutcomes(t, namesAfterLastTransaction(t, h.direct), map[string]error{"lost": err, "next": nil})
		})
	}
}

// lostCommits are the ways in which the response to a COMMIT can get lost. In "before", the server never
// receives the COMMIT. In "after", the server has executed it. In "late", the server receives it long after
// the client was disconnected.
var lostCommits = map[string]func(*pgtest.Proxy, func([]byte) bool) (disconnected <-chan struct{}, release func()){
	"before": func(p *pgtest.Proxy, match func([]byte) bool) (<-chan struct{}, func()) {
		return p.CutBefore(match), func() {}
	},
	"after": func(p *pgtest.Proxy, match func([]byte) bool) (<-chan struct{}, func()) {
		return p.CutAfter(match), func() {}
	},
	"late": (*pgtest.Proxy).CutLate,
}

// awaitDisconnect waits until the proxy has cut the connection on which a COMMIT was sent.
func awaitDisconnect(t *testing.T, disconnected <-chan struct{}) {
	t.Helper()
	select {
	case <-disconnected:
	case <-time.After(2 * ample):
		t.Fatal("no COMMIT was sent")
	}
}

// startWriteWithShortBudget is like startWrite but uses a short retry budget. It returns when the COMMIT has
// been sent. On a busy machine, the budget may be spent before that. In this case nothing has been written,
// and the write is started again.
func (h *faultHarness) startWriteWithShortBudget(name string, sent <-chan struct{}) (outcome func() error) {
	h.Helper()
	h.engine().retryBudget = shortBudget
	for end := time.Now().Add(2 * ample); time.Now().Before(end); {
		outcome = h.startWrite(name)
		refused := make(chan struct{})
		go func() {
			defer close(refused)
			if errors.Is(outcome(), errUnknown) {
				<-sent
			}
		}()
		select {
		case <-sent:
			return outcome
		case <-refused:
		}
		select {
		case <-sent: // the COMMIT was sent before the write was refused
			return outcome
		default:
		}
	}
	h.Fatal("no COMMIT was sent")
	return nil
}

func (h *faultHarness) awaitLockWait() {
	h.Helper()
	awaitRow(h.T, h.direct, "somebody to wait for the transaction",
		"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
}

// The network stays silent or cut after a COMMIT was lost. If the network recovers within the budget, the
// write is done exactly once. Otherwise the write reports an unknown outcome and is done once or not at all.
func TestLostCommitAndNetworkIsDoneOnceOrUnknown(t *testing.T) {
	t.Parallel()
	for name, set := range lostCommits {
		for _, cut := range []bool{false, true} {
			for _, inTime := range []bool{false, true} {
				if name == "late" && cut {
					continue // cutting the connection would lose the delayed COMMIT
				}
				t.Run(fmt.Sprintf("%s, cut %v, in time %v", name, cut, inTime), func(t *testing.T) {
					t.Parallel()
					h := newFaultHarness(t)
					h.works("before")
					disconnected, release := set(h.proxy, func(message []byte) bool {
						if pgtest.IsCommit(message) {
							// Silence all connections. Only this COMMIT still arrives.
							h.proxy.Delay(time.Hour)
							return true
						}
						return false
					})
					heal := func() { h.proxy.Heal(); release() }
					var outcome func() error
					if inTime {
						outcome = h.startWrite("lost")
						awaitDisconnect(t, disconnected)
					} else {
						outcome = h.startWriteWithShortBudget("lost", disconnected)
					}
					if cut {
						h.proxy.Cut()
						h.proxy.Delay(0)
					}
					if inTime {
						time.Sleep(100 * time.Millisecond) // an outage of any duration
						heal()
					}
					err := outcome()
					heal()
					if (err == nil) != inTime {
						t.Errorf("the write returned %v", err)
					}
					if err != nil && isRetryable(err) {
						t.Errorf("a write with an unknown outcome is retryable: %v", err)
					}
					h.engine().retryBudget = ample
					h.works("after")
					found := namesAfterLastTransaction(t, h.direct)
					checkOutcomes(t, found, map[string]error{"before": nil, "lost": err, "after": nil})
					if want := name != "before" || inTime; found["lost"] != want {
						t.Errorf("the write is stored: %v, want %v", found["lost"], want)
					}
				})
			}
		}
	}
}

// Many writers lose one COMMIT after another. Each write is still done exactly once.
func TestManyLostCommitsAreEachDoneOnce(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t)
	const faults = 15
	writers := startWriters(8, h.store)
	defer writers.stop()
	for i := range faults {
		set := lostCommits[[]string{"before", "after", "late"}[i%3]]
		disconnected, release := set(h.proxy, pgtest.IsCommit)
		awaitDisconnect(t, disconnected)
		if i%3 == 2 {
			h.awaitLockWait()
		}
		release()
	}
	outcomes := writers.stop()
	checkOutcomes(t, namesAfterLastTransaction(t, h.direct), outcomes)
	for name, err := range outcomes {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d writes, %d lost commits", len(outcomes), faults)
}

// writers is a set of goroutines that add animals with distinct names until stop is called.
type writers struct {
	running sync.WaitGroup
	ended   atomic.Bool
	done    atomic.Int64 // the number of successful writes

	mu       sync.Mutex
	outcomes map[string]error
}

func startWriters(n int, store *Store) *writers {
	w := &writers{outcomes: map[string]error{}}
	for i := range n {
		w.running.Go(func() {
			for j := 0; !w.ended.Load(); j++ {
				name := fmt.Sprintf("%d of writer %d", j, i)
				err := store.Write(context.Background(), adding(name))
				if err == nil {
					w.done.Add(1)
				}
				w.mu.Lock()
				w.outcomes[name] = err
				w.mu.Unlock()
			}
		})
	}
	return w
}

// awaitMore waits until n more writes have succeeded.
func (w *writers) awaitMore(t *testing.T, n int64) {
	t.Helper()
	target := w.done.Load() + n
	for deadline := time.Now().Add(2 * ample); w.done.Load() < target; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no write succeeds any more")
		}
	}
}

func (w *writers) stop() map[string]error {
	w.ended.Store(true)
	w.running.Wait()
	return w.outcomes
}

// onlyUnavailable returns the number of failed writes. It reports a test error if a write failed with an
// error other than unavailable.
func onlyUnavailable(t *testing.T, outcomes map[string]error) (failed int) {
	t.Helper()
	for name, err := range outcomes {
		if err == nil {
			continue
		}
		failed++
		if shop.AsError(err).Code != shop.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	return failed
}
