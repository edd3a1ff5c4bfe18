package workload

import (
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// Check waits until no order is on hold, reads all data from every node and compares it with the recorded operations.
// It also checks that every follower receives every event exactly once and in order. The load must have been stopped,
// and all nodes must be running.
func (l *Load) Check() {
	l.t.Helper()
	ctx := l.t.Context()
	var h history
	for i, node := range l.nodes {
		c := l.newClient(node.URL, node.Client)
		programtest.Await(l.t, "the last holds to expire", func() bool {
			orders, _, err := c.ListOrders(ctx, client.OrderQuery{Status: client.OrderPlaced})
			return err == nil && len(orders) == 0
		})
		h = history{operations: l.operations, events: collect(l.t, c.Events(ctx, client.EventQuery{Limit: 100})),
			pets: collect(l.t, c.Pets(ctx, client.PetQuery{Limit: 100})), orders: collect(l.t, c.Orders(ctx, client.OrderQuery{Limit: 100})),
			categories: collect(l.t, c.Categories(ctx))}
		var err error
		if h.inventory, err = c.Inventory(ctx); err != nil || len(h.orders) == 0 {
			l.t.Fatalf("got %d orders and the error %v, want orders and no error", len(h.orders), err)
		}
		for _, problem := range h.check() {
			l.Problem("on node %d: %s", i, problem)
		}
	}
	results := map[opResult]int{}
	for _, op := range l.operations {
		results[op.result]++
	}
	l.t.Logf("operations: %v; %d requests got no response, and %d writes a 503; %d reads; %d connections cut",
		results, l.Unanswered.Load(), l.Unavailable.Load(), l.Reads.Load(), l.Cuts.Load())
	l.t.Logf("%d events; %d animals, %d orders and %d categories exist", len(h.events), len(h.pets), len(h.orders), len(h.categories))
	if !l.Failed() {
		l.checkFollowers(h.events)
	}
}

// checkFollowers waits until every follower has received the last event and compares the received events with the
// feed. It would also notice a position that was assigned twice.
func (l *Load) checkFollowers(events []client.Event) {
	l.t.Helper()
	l.streamProxy.meanBytes.Store(0)
	stop := l.start(l.followAll())
	for _, f := range l.followers {
		programtest.Await(l.t, "a follower to receive the last event", func() bool { return !comesAfter(events[len(events)-1].ID, f.lastSeen()) })
	}
	stop()
	var want []string
	for _, e := range events {
		want = append(want, describe(e))
	}
	for i, f := range l.followers {
		if difference := cmp.Diff(want, f.seen); difference != "" {
			l.Problem("follower %d, started %d times, received other events than the feed lists (-want +got):\n%s", i, f.starts, difference)
		}
	}
}

func collect[T any](t *testing.T, all iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for one, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}
