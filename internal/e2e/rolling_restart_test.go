package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// TestRollingRestartFailsNoRequest restarts the nodes one after another under load, as an upgrade does. Half
// of the clients use a load balancer that polls /readyz. The other half use a load balancer that sends
// requests to a node until the node refuses connections. No call to the Go client may fail, and every
// acknowledged change must exist exactly once.
func TestRollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	const clients = 4
	f := newSharedFolder(t)
	nodes := serveNodesUnderLoad(f, 3)
	b := newBalancer(t, nodes)
	blind := &balancer{transport: b.transport, slots: b.slots, ignoresReadiness: true}
	l := newLoad(t)
	buyers := []*buyer{{Client: b.client(t), load: l}, {Client: blind.client(t), load: l}}
	l.start(clients, func(i, n int) error { return buyers[i%2].buy(fmt.Sprintf("client %d, purchase %d", i, n), n) })
	l.await(8 * clients)
	for i, node := range nodes {
		node.Stop()
		if delay := stopDelay(node); delay < time.Second {
			t.Errorf("the node stopped %v after the signal, want at least 1s of failing /readyz first", delay)
		}
		b.put(i, nil)
		l.await(8 * clients)
		nodes[i] = serveNodesUnderLoad(f, 1)[0]
		used := b.put(i, nodes[i])
		programtest.Await(t, "the new node to be used", func() bool { return used.Load() > 0 || t.Failed() })
		l.await(8 * clients)
	}
	l.stop()
	for _, node := range nodes {
		l.check(node)
	}
	if len(l.sent) != len(l.pets) || len(l.references) != len(l.orders) {
		t.Errorf("%d of %d animals and %d of %d orders were acknowledged, want all", len(l.pets), len(l.sent), len(l.orders), len(l.references))
	}
}

var stoppingAndStopped = regexp.MustCompile(`(?s)time=(\S+) level=INFO msg=stopping\n.*time=(\S+) level=INFO msg=stopped\n`)

// stopDelay returns the time between the stop signal and the end of the process, according to the node's log.
func stopDelay(p *programtest.Program) time.Duration {
	p.T.Helper()
	lines := stoppingAndStopped.FindStringSubmatch(p.Output.String())
	if lines == nil {
		p.T.Fatal("the log lacks the lines \"stopping\" and \"stopped\"")
	}
	begin, err1 := time.Parse(time.RFC3339Nano, lines[1])
	end, err2 := time.Parse(time.RFC3339Nano, lines[2])
	if err1 != nil || err2 != nil {
		p.T.Fatal(err1, err2)
	}
	return end.Sub(begin)
}

// buy adds an animal and orders it. It may then approve the order and deliver or cancel it. Each request may
// reach a different node, so every node must know what the other nodes have acknowledged.
func (b *buyer) buy(name string, n int) error {
	ctx := b.load.t.Context()
	pet, err := b.add(client.NewPet{Name: name, CategoryID: int64(n % 3), Status: client.PetAvailable})
	if err != nil {
		return err
	}
	order, err := b.order(pet.ID, name)
	if err != nil {
		return err
	}
	if _, err := b.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: "too late"}); !client.IsCode(err, client.CodePetNotAvailable) {
		return fmt.Errorf("ordering an animal twice: got %v, want %s", err, client.CodePetNotAvailable)
	}
	if n%4 > 0 {
		if order, err = b.ApproveOrder(ctx, order.ID); err != nil {
			return err
		}
	}
	switch n % 4 {
	case 2:
		order, err = b.DeliverOrder(ctx, order.ID)
	case 3:
		order, err = b.CancelOrder(ctx, order.ID)
	}
	if err != nil {
		return err
	}
	b.load.record(order)
	want := petStatusOf[order.Status]
	if pet, err = b.GetPet(ctx, pet.ID); err != nil || pet.Name != name || pet.Status != want {
		return fmt.Errorf("got %+v, %v, want %s with the status %q", pet, err, name, want)
	}
	return nil
}
