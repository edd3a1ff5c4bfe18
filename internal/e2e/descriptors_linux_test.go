package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestDescriptorsUsedUp opens more connections than the service may have: those that it has are served all the same, others
// when there is room again, and the log says so without being flooded.
func TestDescriptorsUsedUp(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	const limit = 100
	command := exec.Command("sh", "-c", fmt.Sprintf("ulimit -n %d; exec animalstore serve --addr 127.0.0.1:0", limit))
	command.Dir, command.Env = f.dir, f.environment()
	output := &transcript{}
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := f.watch(command, output)
	p.awaitReady()
	const clients = 16
	served := make([]*program, clients)
	for i := range served { // each has one connection, and has done nothing with the database yet
		own := *p
		own.client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1}, Timeout: patience}
		t.Cleanup(own.client.CloseIdleConnections)
		expectStatus(t, own.send("GET", "/livez", "", ""), 200)
		served[i] = &own
	}
	var idle []net.Conn
	full := func() bool { return strings.Contains(output.String(), "too many open files") }
	for len(idle) < 3*limit {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	await(t, "the descriptors to be used up", full)
	var working sync.WaitGroup
	for i, p := range served {
		working.Go(func() {
			for n := range 20 {
				a, err := p.try("POST", "/v1/pets", adminKey, pet{Name: fmt.Sprintf("%d of %d", n, i)}.json())
				if err != nil || a.status != 201 {
					t.Errorf("%v, %v", a, err)
					return
				}
				a, err = p.try("GET", fmt.Sprintf("/v1/pets?q=%d+of+%d", n, i), adminKey, "")
				if err != nil || a.status != 200 || !strings.Contains(a.body, `"name"`) {
					t.Errorf("%v, %v", a, err)
					return
				}
			}
		})
	}
	working.Wait()
	for _, conn := range idle { // one by one, so that the service takes another each time, and is full again
		conn.Close()
	}
	p.client.CloseIdleConnections()
	expectStatus(t, p.send("GET", "/v1/pets", adminKey, ""), 200)
	if n := strings.Count(output.String(), "too many open files"); n > 3 {
		t.Errorf("the log says it %d times", n)
	}
	if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", command.Process.Pid)); err != nil || len(entries) >= limit {
		t.Errorf("%d descriptors are open, %v", len(entries), err)
	}
	p.stop()
}
