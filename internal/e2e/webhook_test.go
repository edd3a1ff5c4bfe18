package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"animalstore/internal/programtest"
)

// TestKilledServiceDeliversEveryEvent kills the service many times while it delivers messages. Every event
// must arrive at least once and always with the same webhook-id.
func TestKilledServiceDeliversEveryEvent(t *testing.T) {
	t.Parallel()
	const rounds = 15
	f := programtest.NewFolderWithKey(t)
	r := newReceiver(t)
	for round := range rounds {
		p := f.Serve("--webhook-allow-private")
		if round == 0 {
			r.subscribe(p)
		}
		r.then(func(total int) {
			if total >= 3+round { // kill the service before it gets a response to this message
				p.Signal(syscall.SIGKILL)
			}
		})
		for n := 0; ; n++ {
			body := animal(fmt.Sprintf("round %d, animal %d", round, n), n).JSON()
			if a, err := p.Try("POST", "/v1/pets", programtest.AdminKey, body); err != nil {
				break
			} else {
				programtest.ExpectStatus(t, a, http.StatusCreated)
			}
		}
		p.Kill() // wait until the process has exited
	}
	r.then(nil)
	p := f.Serve("--webhook-allow-private")
	events, times := r.checkAll(p)
	r.awaitDeliveries(p)
	p.Stop()
	t.Logf("%d events, %d deliveries", events, times)
}

// TestNodesDeliverEachEventOnce runs three nodes that deliver messages to a working endpoint and to an
// unreachable one. All nodes must take part, and no message may be sent twice to the working endpoint.
func TestNodesDeliverEachEventOnce(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.ServeNodes(3, "--webhook-allow-private")
	dead, r := newReceiver(t), newReceiver(t)
	dead.Close()
	dead.subscribe(nodes[0])
	r.subscribe(nodes[1])
	programtest.Await(t, "a delivery by every node", func() bool {
		for i, node := range nodes {
			node.Create(programtest.Pet{Name: fmt.Sprint("Rex ", i), CategoryID: 1})
		}
		return !slices.ContainsFunc(nodes, func(node *programtest.Program) bool { return outcomes(node)["succeeded"] == 0 })
	})
	atOnce(nodes, 4, func(node *programtest.Program) {
		for range 15 {
			if a, err := node.Try("POST", "/v1/pets", programtest.AdminKey, `{"name":"Rex","categoryId":1}`); err != nil || a.Status != http.StatusCreated {
				t.Errorf("POST /v1/pets: got %v, %v, want 201", a, err)
			}
		}
	})
	events, times := r.checkAll(nodes[2])
	r.awaitDeliveries(nodes[2])
	if times != events {
		t.Errorf("%d events arrived %d times, want once each", events, times)
	}
	sent := 0
	for _, node := range nodes {
		outcomes := outcomes(node)
		sent += outcomes["succeeded"]
		if outcomes["lost"] != 0 || outcomes["failed"] != 0 {
			t.Errorf("the outcomes of a node are %v, want none lost or failed", outcomes)
		}
		t.Logf("the outcomes of a node are %v", outcomes)
	}
	if sent != events {
		t.Errorf("the metrics count %d successful deliveries, want %d", sent, events)
	}
}

var outcomeLine = regexp.MustCompile(`(?m)^animalstore_webhook_deliveries_total\{outcome="(\w+)"\} (\d+)$`)

// outcomes reads a node's metrics and returns the number of delivery attempts with each outcome.
func outcomes(p *programtest.Program) map[string]int {
	p.T.Helper()
	outcomes := map[string]int{}
	for _, line := range outcomeLine.FindAllStringSubmatch(p.Get("/metrics").Body, -1) {
		outcomes[line[1]], _ = strconv.Atoi(line[2])
	}
	if len(outcomes) != 4 {
		p.T.Errorf("/metrics has the outcomes %v, want 4", outcomes)
	}
	return outcomes
}

// TestNodesTakeOverDeliveriesOfKilledNode kills one node after another while they deliver messages. The
// remaining nodes must deliver the killed nodes' messages.
func TestNodesTakeOverDeliveriesOfKilledNode(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.ServeNodes(3, "--webhook-allow-private")
	r := newReceiver(t)
	r.subscribe(nodes[0])
	for round := range 6 {
		victim := nodes[round%3]
		var once sync.Once
		killed := make(chan struct{})
		r.then(func(total int) {
			if total >= 5 {
				once.Do(func() {
					victim.Kill()
					close(killed)
				})
			}
		})
		for {
			a, err := nodes[(round+1)%3].Try("POST", "/v1/pets", programtest.AdminKey, `{"name":"Rex","categoryId":1}`)
			if err != nil || a.Status != http.StatusCreated {
				t.Fatalf("POST /v1/pets: got %v, %v, want 201", a, err)
			}
			select {
			case <-killed:
			default:
				continue
			}
			break
		}
		nodes[round%3] = f.Serve("--webhook-allow-private")
	}
	r.then(nil)
	events, times := r.checkAll(nodes[0])
	r.awaitDeliveries(nodes[0])
	t.Logf("%d events, %d deliveries", events, times)
}

// TestRotatedWebhookSecretsSignDuringOverlap rotates a webhook's secret. During the overlap, messages must be
// signed with the new secret and with the old ones.
func TestRotatedWebhookSecretsSignDuringOverlap(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve("--webhook-allow-private")
	r := newReceiver(t)
	r.subscribe(p, `"types":["order.placed"]`) // no order is placed, so only test messages are sent
	sendTest := func() {
		t.Helper()
		a := p.Send("POST", fmt.Sprintf("/v1/webhooks/%d/test", r.id), programtest.AdminKey, "")
		programtest.ExpectStatus(t, a, http.StatusAccepted)
		id := programtest.Decode[struct{ MessageID string }](t, a.Body).MessageID
		programtest.Await(t, id, func() bool { return r.has(id) == 1 })
	}
	rotate := func(body string) string {
		t.Helper()
		a := p.Send("POST", fmt.Sprintf("/v1/webhooks/%d/rotate", r.id), programtest.AdminKey, body)
		programtest.ExpectStatus(t, a, http.StatusOK)
		return programtest.Decode[struct{ Secret string }](t, a.Body).Secret
	}
	expectSignatures := func(secrets ...string) {
		t.Helper()
		r.mu.Lock()
		r.secrets = secrets
		r.mu.Unlock()
		sendTest()
	}
	sendTest()
	first := r.secrets[0]
	second := rotate(`{"overlapSeconds":3600}`)
	expectSignatures(first, second)
	third := rotate(`{"overlapSeconds":3600}`)
	expectSignatures(first, second, third)
	expectSignatures(rotate(`{"overlapSeconds":0}`))
}

// TestPrivateWebhookAddressIsRefused creates a webhook with a loopback address. The service must not send
// anything to this address unless private addresses are allowed.
func TestPrivateWebhookAddressIsRefused(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	r := newReceiver(t)
	r.subscribe(p, `"types":["order.placed"]`)
	a := p.Send("POST", fmt.Sprintf("/v1/webhooks/%d/test", r.id), programtest.AdminKey, "")
	programtest.ExpectStatus(t, a, http.StatusAccepted)
	var log string
	programtest.Await(t, "the failed delivery", func() bool {
		log = p.Get(fmt.Sprintf("/v1/webhooks/%d/deliveries?status=failed", r.id)).Body
		return log != "[]\n"
	})
	if !strings.Contains(log, "the address 127.0.0.1 is loopback; webhooks may only use public addresses") || r.total != 0 {
		t.Errorf("%d messages arrived, want 0; the deliveries are %s", r.total, log)
	}
	p.Stop()
	f.Variables = append(f.Variables, "ANIMALSTORE_WEBHOOK_ALLOW_PRIVATE=true")
	p = f.Serve()
	delivery := programtest.Decode[[]struct {
		ID        int64
		MessageID string
	}](t, log)[0]
	programtest.ExpectStatus(t, p.Send("POST", fmt.Sprintf("/v1/webhooks/%d/deliveries/%d/redeliver", r.id, delivery.ID), programtest.AdminKey, ""), http.StatusAccepted)
	programtest.Await(t, "the message", func() bool { return r.has(delivery.MessageID) == 1 })
}

// TestStopFinishesDelivery stops the service during a delivery. The delivery must succeed and must not be
// repeated.
func TestStopFinishesDelivery(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--webhook-allow-private")
	r := newReceiver(t)
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	r.then(func(int) {
		arrived <- struct{}{}
		<-release
	})
	r.subscribe(p)
	p.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	<-arrived
	p.Signal(syscall.SIGTERM)
	p.AwaitOutput("the line \"stopping\"", func(output string) bool { return strings.Contains(output, "msg=stopping") })
	close(release)
	if code := p.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p = f.Serve("--webhook-allow-private")
	events, times := r.checkAll(p)
	r.awaitDeliveries(p)
	if events != times {
		t.Errorf("%d events arrived %d times, want once each", events, times)
	}
}
