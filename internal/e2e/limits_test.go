package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestHoldExpiresAcrossRestart lets one hold expire while the service is running and another while it is
// down.
func TestHoldExpiresAcrossRestart(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	p := f.serve("--order-hold", "1h")
	type order struct{ Status, HoldExpiresAt string }
	place := func(pet int64) {
		t.Helper()
		a := p.send("POST", "/v1/store/orders", adminKey, fmt.Sprintf(`{"petId":%d}`, pet))
		expectStatus(t, a, 201)
		if o := decode[order](t, a.body); o.Status != "placed" || o.HoldExpiresAt == "" {
			t.Fatalf("got %v, want a placed order with holdExpiresAt", a)
		}
	}
	for range 3 {
		p.create(pet{Name: "Rex", Status: "available"})
	}
	place(3) // the hold is long because a short one might expire before the next request
	expectError(t, p.send("POST", "/v1/store/orders", adminKey, `{"petId":3}`), 409, "pet_not_available")
	p.stop()
	p = f.serve("--order-hold", "2s")
	place(1)
	await(t, "the hold to expire", func() bool { return decode[order](t, p.get("/v1/store/orders/2").body).Status == "expired" })
	if a := p.get("/v1/store/inventory"); a.body != `{"available":2,"pending":1,"sold":0,"unspecified":0}`+"\n" {
		t.Errorf("the inventory is %v, want 2 available and 1 pending", a)
	}
	place(2)
	p.kill() // the service is down when the hold expires
	p = f.serve("--order-hold", "2s")
	await(t, "the hold to expire", func() bool { return decode[[]pet](t, p.get("/v1/pets?id=2").body)[0].Status == "available" })
	place(2)
}

// TestUnknownCategoryIsRefused starts the service with --categories known, which allows only animals in
// existing categories.
func TestUnknownCategoryIsRefused(t *testing.T) {
	t.Parallel()
	p := newFolderWithKey(t).serve("--categories", "known")
	expectError(t, p.send("POST", "/v1/pets", adminKey, `{"name":"Rex","categoryId":1}`), 400, "validation_failed")
	expectStatus(t, p.send("POST", "/v1/categories", adminKey, `{"name":"Dogs"}`), 201)
	p.create(pet{Name: "Rex", CategoryID: 1})
}

func TestRateLimitIsEnforced(t *testing.T) {
	t.Parallel()
	p := newFolderWithKey(t).serve("--rate-limit", "1") // even a slow machine can exceed this rate
	await(t, "a request to be rejected", func() bool {
		a := p.send("GET", "/v1/pets", adminKey, "")
		expectHeader(t, a, "RateLimit-Policy", `"default";q=2;w=2`)
		if a.status == 429 {
			expectError(t, a, 429, "rate_limited")
			expectHeader(t, a, "Retry-After", "1")
		}
		return a.status == 429
	})
}

// TestSlowSenderDoesNotDelayStop stops the service while a client is sending a request body that the service
// does not read.
func TestSlowSenderDoesNotDelayStop(t *testing.T) {
	t.Parallel()
	p := newFolderWithKey(t).serve()
	connection, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{")); err != nil {
		t.Fatal(err)
	}
	// The response arrives although the body is incomplete.
	if _, err := connection.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.stop() // the service must exit without waiting for a timeout
}

// TestSlowSendersAreDisconnected opens many connections that send their headers or bodies one byte at a time.
// The service must close these connections and continue to serve other clients.
func TestSlowSendersAreDisconnected(t *testing.T) {
	t.Parallel()
	p := newFolderWithKey(t).serve()
	const each = 50
	starts := []string{
		// This request has no key, so the service refuses it before reading the body.
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{",
		"OPTIONS /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{",
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + adminKey + "\r\nContent-Length: 60000\r\n\r\n{",
	}
	var slow []net.Conn
	for _, start := range starts {
		for range each {
			connection, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if _, err := connection.Write([]byte(start)); err != nil {
				t.Fatal(err)
			}
			slow = append(slow, connection)
		}
	}
	left := len(slow)
	cut := make(chan struct{}, left)
	for _, connection := range slow {
		go func() {
			buffer := make([]byte, 1024)
			for {
				if _, err := connection.Read(buffer); err != nil {
					cut <- struct{}{}
					return
				}
			}
		}()
	}
	await(t, "the slow senders to be disconnected", func() bool {
		for _, connection := range slow {
			connection.Write([]byte("x")) // this byte does not complete the request
		}
		p.create(pet{Name: "Rex"}) // other clients must still be served
		for ; len(cut) > 0; left-- {
			<-cut
		}
		return left == 0
	})
}
