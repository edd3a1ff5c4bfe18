package e2e

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// startPatch sends all but the last byte of a PATCH request. The request stays in flight until finish sends
// the last byte.
func startPatch(p *programtest.Program, path, body string, fields ...string) (connection net.Conn, finish func()) {
	p.T.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { connection.Close() })
	connection.SetDeadline(time.Now().Add(programtest.WaitTimeout))
	write := func(text string) {
		p.T.Helper()
		if _, err := io.WriteString(connection, text); err != nil {
			p.T.Fatal(err)
		}
	}
	write(fmt.Sprintf("PATCH %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n",
		path, programtest.AdminKey, len(body)) + strings.Join(append(fields, "\r\n"), "\r\n") + body[:len(body)-1])
	return connection, func() { write(body[len(body)-1:]) }
}

// renames returns the new names from all rename events in the feed, separated by spaces.
func renames(p *programtest.Program) string {
	p.T.Helper()
	var names []string
	for _, text := range p.Feed() {
		event := programtest.Decode[client.Event](p.T, text)
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
	for engine, start := range map[string]func(t *testing.T) *programtest.Program{
		"file": func(t *testing.T) *programtest.Program { return programtest.NewFolderWithKey(t).Serve() },
		"server": func(t *testing.T) *programtest.Program {
			f, _ := newSharedFolder(t)
			return f.ServeNodes(1)[0]
		},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.Create(programtest.Pet{Name: "Rex"})
			rename := func(name string, fields ...string) programtest.Response {
				t.Helper()
				a := p.Send("PATCH", "/v1/pets/1", programtest.AdminKey, fmt.Sprintf(`{"name":%q}`, name), append(fields, "Content-Type: application/json")...)
				programtest.ExpectStatus(t, a, 200)
				return a
			}
			expectRenames := func(want string) {
				t.Helper()
				if got := renames(p); got != want {
					t.Errorf("the feed has the names %q, want %q", got, want)
				}
			}
			cut, finish := startPatch(p, "/v1/pets/1", `{"name":"A"}`)
			finish()
			programtest.Await(t, "the change to be applied", func() bool { return renames(p) == "A" })
			cut.(*net.TCPConn).SetLinger(0)
			cut.Close() // the client does not receive the response
			first := rename("A")
			if again := rename("A"); again.Body != first.Body || again.Header.Get("ETag") != first.Header.Get("ETag") {
				t.Errorf("the repeated PATCH got %v %q, want %v %q", again, again.Header.Get("ETag"), first, first.Header.Get("ETag"))
			}
			expectRenames("A")

			late, finish := startPatch(p, "/v1/pets/1", `{"name":"B"}`)
			rename("B") // the client retries the delayed request
			rename("C")
			finish()
			if response, err := io.ReadAll(late); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 200 ") {
				t.Fatalf("the late PATCH got %s, %v, want 200", response, err)
			}
			expectRenames("A B C B")

			match := "If-Match: " + p.Get("/v1/pets?id=1").Header.Get("ETag")
			late, finish = startPatch(p, "/v1/pets/1", `{"name":"D"}`, match)
			rename("D", match)
			rename("E")
			finish()
			if response, err := io.ReadAll(late); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 412 ") {
				t.Fatalf("the late PATCH with If-Match got %s, %v, want 412", response, err)
			}
			expectRenames("A B C B D E")
			p.Stop()
		})
	}
}
