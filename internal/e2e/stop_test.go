package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"animalstore/internal/programtest"
)

// TestStopFinishesAcceptedRequest stops the service while it is waiting for the second half of a request
// body. The request must still succeed.
func TestStopFinishesAcceptedRequest(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := programtest.NewFolderWithKey(t)
			p := f.Serve()
			want := programtest.Pet{Name: "Late", CategoryID: 1, Status: "available"}
			body := want.JSON()
			half := len(body) / 2
			// The service sends "100 Continue" when it starts to read the body, so it has then accepted the request.
			connection := openConnection(p, fmt.Sprintf("POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
				"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", programtest.AdminKey, len(body)))
			reader := bufio.NewReader(connection)
			if response, err := http.ReadResponse(reader, nil); err != nil || response.StatusCode != http.StatusContinue {
				t.Fatalf("got %v, %v, want 100 Continue", response, err)
			}
			io.WriteString(connection, body[:half])
			p.Signal(signal)
			programtest.Await(t, "new connections to be refused", func() bool {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
				if err == nil {
					conn.Close()
				}
				return err != nil
			})
			io.WriteString(connection, body[half:])
			response, err := http.ReadResponse(reader, nil)
			if err != nil || response.StatusCode != http.StatusCreated {
				t.Fatalf("got %v, %v, want status 201", response, err)
			}
			got, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if code := p.ExitCode(); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			want.ID = programtest.Decode[programtest.Pet](t, string(got)).ID
			if after := f.Serve().Walk(); !slices.Equal(after, []programtest.Pet{want}) {
				t.Errorf("got the response %s and then the animals %+v, want only %+v", got, after, want)
			}
		})
	}
}

// TestStopUnderLoadLosesNoWrite stops the service while clients add animals. Each request must either get a
// complete response or get none because the connection was closed. Every acknowledged animal must exist after
// the restart.
func TestStopUnderLoadLosesNoWrite(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	l := newLoad(t)
	for round := range 3 {
		p := f.Serve()
		l.check(p)
		l.addUntil(p, fmt.Sprint("round ", round), int64(10+80*round), func() { p.Signal(syscall.SIGTERM) })
		if n := l.truncated.Load(); n > 0 {
			t.Errorf("%d responses were truncated, want none", n)
		}
		if code := p.ExitCode(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	}
	l.check(f.Serve())
}
