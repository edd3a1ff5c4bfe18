package httpapi

import (
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"testing"
)

// slowClient accepts headers but not a single byte of the body before release is closed.
type slowClient struct {
	*httptest.ResponseRecorder
	blocked chan<- struct{}
	release <-chan struct{}
}

func (c slowClient) Write(p []byte) (int, error) {
	c.blocked <- struct{}{}
	<-c.release
	return len(p), io.ErrClosedPipe
}

// A response without an API key needs little memory, even if its client does not read it. Each of these
// clients asks another host for the largest files.
func TestSlowClientsWithoutAKeyNeedLittleMemory(t *testing.T) {
	const clients, perClient = 300, 64 << 10
	s := newShop(t)
	for _, path := range []string{"/docs/swagger-ui-bundle.js", "/v1/openapi.json", "/v1/openapi.yaml"} {
		blocked, release := make(chan struct{}), make(chan struct{})
		before := heapInUse()
		done := make(chan struct{})
		for i := range clients {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = fmt.Sprintf("host-%d.example", i)
			go func() {
				defer func() {
					recover() // the handler aborts the response
					done <- struct{}{}
				}()
				s.api.ServeHTTP(slowClient{httptest.NewRecorder(), blocked, release}, r)
			}()
		}
		for range clients {
			<-blocked
		}
		if used := heapInUse() - before; used > clients*perClient {
			t.Errorf("%s: %d clients that do not read use %d bytes, want at most %d each", path, clients, used, perClient)
		}
		close(release)
		go func() {
			for range blocked {
			}
		}()
		for range clients {
			<-done
		}
		close(blocked)
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
