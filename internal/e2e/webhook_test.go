package e2e

import (
	"fmt"
	"net/http"
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
