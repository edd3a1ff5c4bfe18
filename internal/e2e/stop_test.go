package e2e

import (
	"net"
	"net/http"
	"os"
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
			w, err := dial(p)
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			want := programtest.Pet{Name: "Late", CategoryID: 1, Status: "available"}
			body := want.JSON()
			half := len(body) / 2

			// The service sends "100 Continue" when it starts to read the body, so it has accepted the
			// request at this point.
			w.send(postHead(len(body), "Expect: 100-continue"))
			if line, err := w.reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
				t.Fatalf("got %q, %v, want 100 Continue", line, err)
			}
			if _, err := w.reader.ReadString('\n'); err != nil { // the empty line after the headers
				t.Fatal(err)
			}
			w.send(body[:half])
			p.Signal(signal)
			programtest.Await(t, "new connections to be refused", func() bool {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
				if err == nil {
					conn.Close()
				}
				return err != nil
			})
			w.send(body[half:])
			a, _, err := w.receive()
			if err != nil {
				t.Fatal(err)
			}
			programtest.ExpectStatus(t, a, http.StatusCreated)
			got := programtest.Decode[programtest.Pet](t, a.Body)
			if code := p.ExitCode(); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}

			after := f.Serve().Walk()
			if len(after) != 1 || after[0] != got || got.Name != want.Name {
				t.Errorf("sent %+v, got the response %+v, and found %+v after the restart", want, got, after)
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
	book := newLedger()
	for round, name := range []string{"first", "second", "third"} {
		p := f.Serve()
		book.check(t, p.Walk())
		s := &writeLoad{program: p, name: name, clients: 8, after: int64(10 + 80*round), end: func() { p.Signal(syscall.SIGTERM) }}
		s.run()
		for _, problem := range s.problems {
			t.Error(problem)
		}
		if s.cut > 0 {
			t.Errorf("%d responses were truncated, want none", s.cut)
		}
		if code := p.ExitCode(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		book.add(t, s)
	}
	book.check(t, f.Serve().Walk())
}
