package e2e

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"animalstore/client"
)

// startPatch sends all but the last byte of a PATCH request. The request stays in flight until finish sends
// the last byte.
func (p *program) startPatch(path, body string, fields ...string) (connection net.Conn, finish func()) {
	p.t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { connection.Close() })
	connection.SetDeadline(time.Now().Add(waitTimeout))
	write := func(text string) {
		p.t.Helper()
		if _, err := io.WriteString(connection, text); err != nil {
			p.t.Fatal(err)
		}
	}
	write(fmt.Sprintf("PATCH %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n",
		path, adminKey, len(body)) + strings.Join(append(fields, "\r\n"), "\r\n") + body[:len(body)-1])
	return connection, func() { write(body[len(body)-1:]) }
}

// renames returns the new names from all rename events in the feed, separated by spaces.
func (p *program) renames() string {
	p.t.Helper()
	var names []string
	for _, text := range p.feed() {
		event := decode[client.Event](p.t, text)
		current, previous, err := event.Pet()
		if event.Type == client.EventPetUpdated && err == nil && previous.Name != current.Name {
			names = append(names, current.Name)
		}
	}
	return strings.Join(names, " ")
}

// TestRetriedPatchIsAppliedOnce retries one change whose response was lost and another whose request was
// delayed. A retry must not count as a second change. If a delayed request arrives after a later change, it
// undoes the later change, and the feed must show this. With If-Match, the delayed request must fail instead.
func TestRetriedPatchIsAppliedOnce(t *testing.T) {
	t.Parallel()
	for engine, start := range map[string]func(t *testing.T) *program{
		"file": func(t *testing.T) *program { return newFolderWithKey(t).serve() },
		"server": func(t *testing.T) *program {
			f, _ := newSharedFolder(t)
			return f.serveNodes(1)[0]
		},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.create(pet{Name: "Rex"})
			rename := func(name string, fields ...string) response {
				t.Helper()
				a := p.send("PATCH", "/v1/pets/1", adminKey, fmt.Sprintf(`{"name":%q}`, name), append(fields, "Content-Type: application/json")...)
				expectStatus(t, a, 200)
				return a
			}
			expectRenames := func(want string) {
				t.Helper()
				if got := p.renames(); got != want {
					t.Errorf("the feed has the names %q, want %q", got, want)
				}
			}
			cut, finish := p.startPatch("/v1/pets/1", `{"name":"A"}`)
			finish()
			await(t, "the change to be applied", func() bool { return p.renames() == "A" })
			cut.(*net.TCPConn).SetLinger(0)
			cut.Close() // the client does not receive the response
			first := rename("A")
			if again := rename("A"); again.body != first.body || again.header.Get("ETag") != first.header.Get("ETag") {
				t.Errorf("the repeated PATCH got %v %q, want %v %q", again, again.header.Get("ETag"), first, first.header.Get("ETag"))
			}
			expectRenames("A")

			late, finish := p.startPatch("/v1/pets/1", `{"name":"B"}`)
			rename("B") // the client retries the delayed request
			rename("C")
			finish()
			if response, err := io.ReadAll(late); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 200 ") {
				t.Fatalf("the late PATCH got %s, %v, want 200", response, err)
			}
			expectRenames("A B C B")

			match := "If-Match: " + p.get("/v1/pets?id=1").header.Get("ETag")
			late, finish = p.startPatch("/v1/pets/1", `{"name":"D"}`, match)
			rename("D", match)
			rename("E")
			finish()
			if response, err := io.ReadAll(late); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 412 ") {
				t.Fatalf("the late PATCH with If-Match got %s, %v, want 412", response, err)
			}
			expectRenames("A B C B D E")
			p.stop()
		})
	}
}
