package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"animalstore/internal/programtest"
)

// TestHoldExpiresAcrossRestart lets one hold expire while the service is running and another while it is
// down.
func TestHoldExpiresAcrossRestart(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--order-hold", "1h")
	type order struct{ Status, HoldExpiresAt string }
	place := func(pet int64) {
		t.Helper()
		a := p.Send("POST", "/v1/store/orders", programtest.AdminKey, fmt.Sprintf(`{"petId":%d}`, pet))
		programtest.ExpectStatus(t, a, 201)
		if o := programtest.Decode[order](t, a.Body); o.Status != "placed" || o.HoldExpiresAt == "" {
			t.Fatalf("got %v, want a placed order with holdExpiresAt", a)
		}
	}
	for range 3 {
		p.Create(programtest.Pet{Name: "Rex", Status: "available"})
	}
	place(3) // the hold is long because a short one might expire before the next request
	programtest.ExpectError(t, p.Send("POST", "/v1/store/orders", programtest.AdminKey, `{"petId":3}`), 409, "pet_not_available")
	p.Stop()
	p = f.Serve("--order-hold", "2s")
	place(1)
	programtest.Await(t, "the hold to expire", func() bool { return programtest.Decode[order](t, p.Get("/v1/store/orders/2").Body).Status == "expired" })
	if a := p.Get("/v1/store/inventory"); a.Body != `{"available":2,"pending":1,"sold":0,"unspecified":0}`+"\n" {
		t.Errorf("the inventory is %v, want 2 available and 1 pending", a)
	}
	place(2)
	p.Kill() // the service is down when the hold expires
	p = f.Serve("--order-hold", "2s")
	programtest.Await(t, "the hold to expire", func() bool {
		return programtest.Decode[[]programtest.Pet](t, p.Get("/v1/pets?id=2").Body)[0].Status == "available"
	})
	place(2)
}

// TestUnknownCategoryIsRefused starts the service with --categories known, which allows only animals in
// existing categories.
func TestUnknownCategoryIsRefused(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve("--categories", "known")
	programtest.ExpectError(t, p.Send("POST", "/v1/pets", programtest.AdminKey, `{"name":"Rex","categoryId":1}`), 400, "validation_failed")
	programtest.ExpectStatus(t, p.Send("POST", "/v1/categories", programtest.AdminKey, `{"name":"Dogs"}`), 201)
	p.Create(programtest.Pet{Name: "Rex", CategoryID: 1})
}

func TestRateLimitIsEnforced(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve("--rate-limit", "1") // even a slow machine can exceed this rate
	programtest.Await(t, "a request to be rejected", func() bool {
		a := p.Send("GET", "/v1/pets", programtest.AdminKey, "")
		programtest.ExpectHeader(t, a, "RateLimit-Policy", `"default";q=2;w=2`)
		if a.Status == 429 {
			programtest.ExpectError(t, a, 429, "rate_limited")
			programtest.ExpectHeader(t, a, "Retry-After", "1")
		}
		return a.Status == 429
	})
}

// TestSlowSenderDoesNotDelayStop stops the service while a client is sending a request body that the service
// does not read.
func TestSlowSenderDoesNotDelayStop(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve()
	connection, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
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
	p.Stop() // the service must exit without waiting for a timeout
}

// TestSlowSendersAreDisconnected opens many connections that send their headers or bodies one byte at a time.
// The service must close these connections and continue to serve other clients.
func TestSlowSendersAreDisconnected(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve()
	const each = 50
	starts := []string{
		// This request has no key, so the service refuses it before reading the body.
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{",
		"OPTIONS /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{",
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + programtest.AdminKey + "\r\nContent-Length: 60000\r\n\r\n{",
	}
	var slow []net.Conn
	for _, start := range starts {
		for range each {
			connection, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
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
	programtest.Await(t, "the slow senders to be disconnected", func() bool {
		for _, connection := range slow {
			connection.Write([]byte("x")) // this byte does not complete the request
		}
		p.Create(programtest.Pet{Name: "Rex"}) // other clients must still be served
		for ; len(cut) > 0; left-- {
			<-cut
		}
		return left == 0
	})
}
