package engine

import (
	"slices"
	"sync"
	"time"

	"animalstore/internal/admission"
)

// MaxGroup is the maximum number of writes that share one commit. It limits how long the first write waits for the
// last one.
const MaxGroup = 256

// Queue contains the writes that wait to be committed, and decides which of them come next. It shares the time of the
// goroutine that commits them:
//
//   - Interactive writes come first, in groups. Keys take turns.
//   - Every other write is a step, which comes alone. If interactive writes are waiting, one group of them goes first.
//   - After a step that took d, no other step begins for 3·d, unless there was no interactive write for 4·d.
//
// So steps get at most a quarter of the time while clients write, and go on however many clients write. Between the
// response to one write and the next write of the same client, the queue may be empty for a moment. Therefore only a gap
// of 4·d means that no client is writing.
type Queue struct {
	mu      sync.Mutex
	changed *sync.Cond // signalled when a write is queued, when the next step is due, and by Close
	closed  bool

	interactive     admission.Turns[*Write]
	lastInteractive time.Time // when Next last found that a group had run or that interactive writes were waiting
	grouped         bool      // whether Next has last taken a group
	steps           steps
	yielded         bool // whether the next step has let a group of interactive writes go first
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	q := &Queue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// Do queues a write and returns when its group has been committed or has failed. If the write's context ends before
// the write has begun, Do returns without waiting for the group, and the write never runs.
func (q *Queue) Do(w *Write) error {
	if err := q.add(w); err != nil {
		return err
	}
	select {
	case <-w.done:
	case <-w.Ctx.Done():
		if w.taken.CompareAndSwap(false, true) {
			q.remove(w)
			return EndedError(w.Ctx.Err())
		}
		<-w.done
	}
	if w.Panic != nil {
		panic(w.Panic) // panic in the caller's goroutine, where the panic can be recovered
	}
	return w.Err
}

func (q *Queue) add(w *Write) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ClosedError()
	}
	q.turnsOf(w).Add(w.Key, w)
	q.changed.Signal()
	return nil
}

// remove removes a write that will never run, so that the queue does not keep its rows in memory.
func (q *Queue) remove(w *Write) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turnsOf(w).Remove(w.Key, w)
}

func (q *Queue) turnsOf(w *Write) *admission.Turns[*Write] {
	switch w.Priority {
	case Bulk:
		return &q.steps.bulk
	case Background:
		return &q.steps.background
	default:
		return &q.interactive
	}
}

// Close refuses new writes. Those that are queued can still be taken.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// Next waits for writes and takes either a group of interactive writes or one step. It returns nil when the queue is
// closed and empty. A step ends with the next call of Next, so only one goroutine may take steps.
func (q *Queue) Next() []*Write {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.steps.end()
	if q.grouped || q.interactive.Len() > 0 {
		q.lastInteractive = time.Now()
	}
	for {
		pause := q.pause()
		if q.steps.waiting() > 0 && pause == 0 && (q.interactive.Len() == 0 || q.yielded) {
			q.yielded, q.grouped = false, false
			return []*Write{q.steps.begin()}
		}
		if q.interactive.Len() > 0 {
			q.yielded, q.grouped = q.steps.waiting() > 0, true
			return q.join(nil)
		}
		if q.closed && q.steps.waiting() == 0 {
			return nil
		}
		q.await(pause)
	}
}

// pause returns how long it takes until the next step is due, or 0 if no step is waiting.
func (q *Queue) pause() time.Duration {
	if q.closed || q.steps.waiting() == 0 {
		return 0
	}
	return q.steps.pause(q.lastInteractive)
}

// await waits until the queue changes. If pause is positive, it also ends after this time. The caller must hold the
// lock.
func (q *Queue) await(pause time.Duration) {
	if pause > 0 {
		timer := time.AfterFunc(pause, func() {
			q.mu.Lock() // the caller holds the lock until it waits, so it does not miss this signal
			defer q.mu.Unlock()
			q.changed.Broadcast()
		})
		defer timer.Stop()
	}
	q.changed.Wait()
}

// Join adds the waiting interactive writes to a group, as far as they fit.
func (q *Queue) Join(group []*Write) []*Write {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.join(group)
}

func (q *Queue) join(group []*Write) []*Write {
	group = slices.Grow(group, min(q.interactive.Len(), MaxGroup-len(group)))
	for len(group) < MaxGroup {
		_, w, found := q.interactive.Take(nil)
		if !found {
			break
		}
		group = append(group, w)
	}
	return group
}

// Drain takes all waiting writes.
func (q *Queue) Drain() (all []*Write) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, waiting := range []*admission.Turns[*Write]{&q.interactive, &q.steps.bulk, &q.steps.background} {
		for waiting.Len() > 0 {
			_, w, _ := waiting.Take(nil)
			all = append(all, w)
		}
	}
	return all
}

// Waiting returns the number of interactive writes that are waiting.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.interactive.Len()
}
