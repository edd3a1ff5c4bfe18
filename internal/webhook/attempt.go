package webhook

import (
	"context"
	"sync"
	"time"

	"animalstore/internal/shop"
)

// startWithin is the maximum age of a claim when the attempt starts. The result must be recorded well before the
// claim ends.
const startWithin = shop.ClaimDuration / 4

// result is the result of an attempt and the time until which it can be recorded, which is the end of the claim.
type result struct {
	shop.AttemptResult
	until time.Time
}

// startDue claims as many due deliveries as the slots allow and starts an attempt for each. It returns their number.
func (d *Dispatcher) startDue(ctx context.Context, attempts *sync.WaitGroup) (started int, err error) {
	free := d.slots.free()
	if free.Total == 0 {
		return 0, nil
	}
	claimedAt := time.Now() // before the database grants the claims, so that no claim seems younger than it is
	claims, err := d.service.ClaimDeliveries(ctx, free)
	for _, claim := range claims {
		d.slots.take(claim)
		attempts.Go(func() { d.attempt(ctx, claim, claimedAt) })
	}
	return len(claims), err
}

// attempt sends one message and passes the result on to recordResults, which releases the slot.
func (d *Dispatcher) attempt(ctx context.Context, claim shop.Claim, claimedAt time.Time) {
	if time.Since(claimedAt) > startWithin {
		d.slots.release(claim)
		return // the claim could end during the attempt, and another node would then send the same message
	}
	d.metrics.inFlight.Inc()
	ctx, span := d.startSpan(ctx, claim)
	attempt, after := d.sender.send(ctx, claim)
	endSpan(span, attempt)
	d.metrics.inFlight.Dec()
	d.metrics.duration.Observe(attempt.Duration.Seconds())
	d.results <- result{shop.AttemptResult{Claim: claim, Attempt: attempt, RetryAfter: after}, claimedAt.Add(shop.ClaimDuration)}
}

// recordResults stores the results of all attempts until the channel is closed. Results that arrive while others are
// being stored are stored together.
func (d *Dispatcher) recordResults(ctx context.Context) {
	for first := range d.results {
		batch := []result{first}
		for more := true; more && len(batch) < maxInFlight; {
			select {
			case next, ok := <-d.results:
				if more = ok; ok {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		d.record(ctx, batch)
		for _, r := range batch {
			d.slots.release(r.Claim)
		}
		d.wake()
	}
}

// record stores results. It retries until the claims end. A result that is not stored by then is lost, and the
// message is sent again.
func (d *Dispatcher) record(ctx context.Context, batch []result) {
	for {
		results := make([]shop.AttemptResult, len(batch))
		for i, r := range batch {
			results[i] = r.AttemptResult
		}
		outcomes, err := d.service.FinishAttempts(ctx, results...)
		if err == nil {
			for _, outcome := range outcomes {
				d.metrics.count(outcome)
			}
			return
		}
		d.report(err)
		var pending []result
		for _, r := range batch {
			if time.Now().After(r.until) {
				d.metrics.count(shop.OutcomeLost)
			} else {
				pending = append(pending, r)
			}
		}
		if batch = pending; len(batch) == 0 {
			return
		}
		pause(ctx, pollInterval)
	}
}
