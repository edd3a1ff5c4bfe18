package e2e

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// TestAcknowledgedAnimalsSurviveKill kills the service repeatedly while clients create animals. Every
// acknowledged animal must still exist, unchanged. An unacknowledged animal may exist, but it must be
// complete and must not exist twice.
func TestAcknowledgedAnimalsSurviveKill(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	l := newLoad(t)
	for round := range 8 {
		p := f.Serve()
		l.check(p)
		l.addUntil(p, fmt.Sprint("round ", round), int64(20+15*round), func() { p.Signal(syscall.SIGKILL) })
		p.Kill() // wait until the process has exited
		if t.Failed() {
			return
		}
	}
	checkIntegrity(t, f.Path("animalstore.db"))
	p := f.Serve()
	l.check(p)
	if announced, stored := announcedAndStored(p); !slices.Equal(announced, stored) {
		t.Errorf("animals announced in the feed: got %v, want the stored ones %v, in order", announced, stored)
	}
	p.Stop()
}

// announcedAndStored returns the IDs of the animals that the feed announces, in its order, and of all animals,
// oldest first.
func announcedAndStored(p *programtest.Program) (announced, stored []int64) {
	p.T.Helper()
	for _, text := range p.Feed() {
		event := programtest.Decode[client.Event](p.T, text)
		if animal, _, err := event.Pet(); err == nil && event.Type == client.EventPetCreated {
			announced = append(announced, animal.ID)
		}
	}
	for _, animal := range slices.Backward(p.Walk()) {
		stored = append(stored, animal.ID)
	}
	return announced, stored
}

// checkIntegrity runs SQLite's integrity checks on a database that no other process has open.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db := openDatabase(t, path)
	defer db.Close()
	const foreignKeys = "SELECT count(*) FROM pragma_foreign_key_check"
	for statement, want := range map[string]string{"PRAGMA integrity_check": "ok", foreignKeys: "0"} {
		var got string
		if err := db.QueryRow(statement).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", statement, got, err, want)
		}
	}
}

// openDatabase opens a SQLite database directly, without going through the program.
func openDatabase(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// execSQL runs statements directly on a SQLite database in the folder, as another program would.
func execSQL(f *programtest.Folder, name, statements string) {
	f.T.Helper()
	db := openDatabase(f.T, f.Path(name))
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		f.T.Fatal(err)
	}
}

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
