package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// feed returns all events as JSON, oldest first.
func (p *program) feed() (all []string) {
	p.t.Helper()
	for url := "/v1/events?limit=100"; url != ""; {
		a := p.get(url)
		for _, event := range decode[[]json.RawMessage](p.t, a.body) {
			all = append(all, string(event))
		}
		url = ""
		if next := nextPage.FindStringSubmatch(a.header.Get("Link")); next != nil {
			url = next[1]
		}
	}
	return all
}

// TestKilledServiceDeliversEveryEvent kills the service many times while it delivers messages. Every event
// must arrive at least once and always with the same webhook-id.
func TestKilledServiceDeliversEveryEvent(t *testing.T) {
	t.Parallel()
	const rounds = 15
	f := newFolderWithKey(t)
	r := newReceiver(t)
	for round := range rounds {
		p := f.serve("--webhook-allow-private")
		if round == 0 {
			r.subscribe(p)
		}
		r.then(func(total int) {
			if total >= 3+round { // kill the service before it gets a response to this message
				p.signal(syscall.SIGKILL)
			}
		})
		for n := 0; ; n++ {
			body := animal(fmt.Sprintf("round %d, animal %d", round, n), n).json()
			if a, err := p.try("POST", "/v1/pets", adminKey, body); err != nil {
				break
			} else {
				expectStatus(t, a, http.StatusCreated)
			}
		}
		p.kill() // wait until the process has exited
	}
	r.then(nil)
	p := f.serve("--webhook-allow-private")
	events, times := r.checkAll(p)
	r.awaitDeliveries(p)
	p.stop()
	t.Logf("%d events, %d deliveries", events, times)
}

// TestNodesDeliverEachEventOnce runs three nodes that deliver messages to a working endpoint and to an
// unreachable one. All nodes must take part, and no message may be sent twice to the working endpoint.
func TestNodesDeliverEachEventOnce(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.serveNodes(3, "--webhook-allow-private")
	dead, r := newReceiver(t), newReceiver(t)
	dead.Close()
	dead.subscribe(nodes[0])
	r.subscribe(nodes[1])
	await(t, "a delivery by every node", func() bool {
		for i, node := range nodes {
			node.create(pet{Name: fmt.Sprint("Rex ", i), CategoryID: 1})
		}
		return !slices.ContainsFunc(nodes, func(node *program) bool { return node.outcomes()["succeeded"] == 0 })
	})
	atOnce(nodes, 4, func(node *program) {
		for range 15 {
			if a, err := node.try("POST", "/v1/pets", adminKey, `{"name":"Rex","categoryId":1}`); err != nil || a.status != http.StatusCreated {
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
		outcomes := node.outcomes()
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
func (p *program) outcomes() map[string]int {
	p.t.Helper()
	outcomes := map[string]int{}
	for _, line := range outcomeLine.FindAllStringSubmatch(p.get("/metrics").body, -1) {
		outcomes[line[1]], _ = strconv.Atoi(line[2])
	}
	if len(outcomes) != 4 {
		p.t.Errorf("/metrics has the outcomes %v, want 4", outcomes)
	}
	return outcomes
}

// TestNodesTakeOverDeliveriesOfKilledNode kills one node after another while they deliver messages. The
// remaining nodes must deliver the killed nodes' messages.
func TestNodesTakeOverDeliveriesOfKilledNode(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.serveNodes(3, "--webhook-allow-private")
	r := newReceiver(t)
	r.subscribe(nodes[0])
	for round := range 6 {
		victim := nodes[round%3]
		var once sync.Once
		killed := make(chan struct{})
		r.then(func(total int) {
			if total >= 5 {
				once.Do(func() {
					victim.kill()
					close(killed)
				})
			}
		})
		for {
			a, err := nodes[(round+1)%3].try("POST", "/v1/pets", adminKey, `{"name":"Rex","categoryId":1}`)
			if err != nil || a.status != http.StatusCreated {
				t.Fatalf("POST /v1/pets: got %v, %v, want 201", a, err)
			}
			select {
			case <-killed:
			default:
				continue
			}
			break
		}
		nodes[round%3] = f.serve("--webhook-allow-private")
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
	p := newFolderWithKey(t).serve("--webhook-allow-private")
	r := newReceiver(t)
	r.subscribe(p, `"types":["order.placed"]`) // no order is placed, so only test messages are sent
	sendTest := func() {
		t.Helper()
		a := p.send("POST", fmt.Sprintf("/v1/webhooks/%d/test", r.id), adminKey, "")
		expectStatus(t, a, http.StatusAccepted)
		id := decode[struct{ MessageID string }](t, a.body).MessageID
		await(t, id, func() bool { return r.has(id) == 1 })
	}
	rotate := func(body string) string {
		t.Helper()
		a := p.send("POST", fmt.Sprintf("/v1/webhooks/%d/rotate", r.id), adminKey, body)
		expectStatus(t, a, http.StatusOK)
		return decode[struct{ Secret string }](t, a.body).Secret
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
	f := newFolderWithKey(t)
	p := f.serve()
	r := newReceiver(t)
	r.subscribe(p, `"types":["order.placed"]`)
	a := p.send("POST", fmt.Sprintf("/v1/webhooks/%d/test", r.id), adminKey, "")
	expectStatus(t, a, http.StatusAccepted)
	var log string
	await(t, "the failed delivery", func() bool {
		log = p.get(fmt.Sprintf("/v1/webhooks/%d/deliveries?status=failed", r.id)).body
		return log != "[]\n"
	})
	if !strings.Contains(log, "the address 127.0.0.1 is loopback; webhooks may only use public addresses") || r.total != 0 {
		t.Errorf("%d messages arrived, want 0; the deliveries are %s", r.total, log)
	}
	p.stop()
	f.variables = append(f.variables, "ANIMALSTORE_WEBHOOK_ALLOW_PRIVATE=true")
	p = f.serve()
	delivery := decode[[]struct {
		ID        int64
		MessageID string
	}](t, log)[0]
	expectStatus(t, p.send("POST", fmt.Sprintf("/v1/webhooks/%d/deliveries/%d/redeliver", r.id, delivery.ID), adminKey, ""), http.StatusAccepted)
	await(t, "the message", func() bool { return r.has(delivery.MessageID) == 1 })
}

// TestStopFinishesDelivery stops the service during a delivery. The delivery must succeed and must not be
// repeated.
func TestStopFinishesDelivery(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve("--webhook-allow-private")
	r := newReceiver(t)
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	r.then(func(int) {
		arrived <- struct{}{}
		<-release
	})
	r.subscribe(p)
	p.create(pet{Name: "Rex", CategoryID: 1})
	<-arrived
	p.signal(syscall.SIGTERM)
	p.awaitOutput("the line \"stopping\"", func(output string) bool { return strings.Contains(output, "msg=stopping") })
	close(release)
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p = f.serve("--webhook-allow-private")
	events, times := r.checkAll(p)
	r.awaitDeliveries(p)
	if events != times {
		t.Errorf("%d events arrived %d times, want once each", events, times)
	}
}
