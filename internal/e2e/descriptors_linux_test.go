package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/programtest"
)

// TestServiceSurvivesDescriptorExhaustion opens more connections than the service may have open files. The
// service must lower its connection limit and continue to serve clients, even if it must open database files
// first.
func TestServiceSurvivesDescriptorExhaustion(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	const limit, clients = 100, 8
	command := exec.Command("sh", "-c", fmt.Sprintf("ulimit -n %d; exec animalstore serve --addr 127.0.0.1:0", limit))
	command.Env = []string{"GOMAXPROCS=2"} // determines the number of database connections
	p := f.Launch(command)
	p.AwaitReady()
	if !strings.Contains(p.Output.String(), "connection limit lowered") {
		t.Error("the log does not report the lowered connection limit")
	}
	if got := p.Metric("animalstore_connections_limit"); got != limit/4*3 {
		t.Errorf("connection limit: got %v, want %d", got, limit/4*3)
	}
	served := make([]*programtest.Program, clients)
	for i := range served { // each client has one connection, which has not used the database yet
		own := *p
		own.Client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1}, Timeout: programtest.WaitTimeout}
		t.Cleanup(own.Client.CloseIdleConnections)
		programtest.ExpectStatus(t, own.Send("GET", "/livez", "", ""), 200)
		served[i] = &own
	}
	var working sync.WaitGroup
	for i, p := range served {
		working.Go(func() {
			// The service may drop a connection that is waiting for its next request. The client then retries.
			request := func(want int, method, path, body string) {
				a, err := programtest.Response{}, error(nil)
				programtest.Await(t, "a response", func() bool {
					a, err = p.Try(method, path, programtest.AdminKey, body, "Idempotency-Key: "+fmt.Sprint(i, "-", body))
					return err == nil
				})
				if a.Status != want || !strings.Contains(a.Body, `"name"`) {
					t.Errorf("%s %s: got %v, want status %d and the animal", method, path, a, want)
				}
			}
			for n := range 5 {
				request(201, "POST", "/v1/pets", programtest.Pet{Name: fmt.Sprintf("%d of %d", n, i)}.JSON())
				request(200, "GET", fmt.Sprintf("/v1/pets?q=%d+of+%d", n, i), "")
			}
		})
	}
	for range 2 * limit { // these connections stay idle, so the service may drop some of them
		openConnection(p, "")
	}
	working.Wait()
	p.Client.CloseIdleConnections()
	programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", programtest.AdminKey, ""), 200)
	if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", command.Process.Pid)); err != nil || len(entries) >= limit {
		t.Errorf("open descriptors: got %d, %v, want fewer than %d", len(entries), err, limit)
	}
	p.Stop()
}
