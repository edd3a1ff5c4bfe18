package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// expireClaims is a statement that lets another node send the messages that a killed node was sending. Without
// it, the tests would have to wait for 30 seconds.
const expireClaims = "UPDATE deliveries SET claimed_until = 1 WHERE claimed_until IS NOT NULL"

// TestKilledServiceDeliversEveryEvent kills the service several times while it delivers messages. Every event
// must arrive at least once and always with the same webhook-id.
func TestKilledServiceDeliversEveryEvent(t *testing.T) {
	t.Parallel()
	const rounds = 4
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
			a, err := p.Try("POST", "/v1/pets", programtest.AdminKey, body)
			if err != nil {
				break
			}
			programtest.ExpectStatus(t, a, http.StatusCreated)
		}
		p.Kill() // wait until the process has exited
		execSQL(f, "animalstore.db", expireClaims)
	}
	r.then(nil)
	p := f.Serve("--webhook-allow-private")
	r.checkAll(p)
	r.awaitDeliveries(p)
	p.Stop()
}

// TestNodesTakeOverDeliveriesOfKilledNode kills one node after another while they deliver messages. The
// remaining nodes must deliver the killed nodes' messages.
func TestNodesTakeOverDeliveriesOfKilledNode(t *testing.T) {
	t.Parallel()
	f, database := newSharedFolder(t)
	nodes := f.ServeNodes(3, "--webhook-allow-private")
	r := newReceiver(t)
	r.subscribe(nodes[0])
	for round, victim := range nodes[:2] {
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
		for running := true; running; {
			a, err := nodes[2].Try("POST", "/v1/pets", programtest.AdminKey, `{"name":"Rex","categoryId":1}`)
			if err != nil || a.Status != http.StatusCreated {
				t.Fatalf("round %d: POST /v1/pets: got %v, %v, want 201", round, a, err)
			}
			select {
			case <-killed:
				running = false
			default:
			}
		}
		query[int](t, database, "WITH expired AS ("+expireClaims+" RETURNING 1) SELECT count(*) FROM expired")
	}
	r.then(nil)
	r.checkAll(nodes[2])
	r.awaitDeliveries(nodes[2])
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
	select {
	case <-arrived:
	case <-time.After(programtest.WaitTimeout):
		t.Fatal("no message arrived")
	}
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
