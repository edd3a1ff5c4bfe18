package shoptest

import (
	"testing"

	"animalstore/internal/shop"
)

// Deliver sends all messages to webhooks that are due, without a network. attempt returns the result of each. The events
// must be published.
func Deliver(t testing.TB, service *shop.Service, attempt func(shop.Message) shop.Attempt) {
	t.Helper()
	for queue := service.NewWebhookQueue(); ; {
		batches := Must(queue.Lease(t.Context(), shop.Room{Total: 256, Failing: 256}))(t)
		if len(batches) == 0 {
			return
		}
		for _, batch := range batches {
			done := shop.FinishedBatch{Batch: batch}
			for _, message := range batch.Messages {
				done.Results = append(done.Results, shop.AttemptResult{Attempt: attempt(message)})
			}
			Must(queue.Finish(t.Context(), done))(t)
		}
	}
}
