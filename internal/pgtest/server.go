// Package pgtest starts real PostgreSQL servers for tests, either a single server or a primary with a
// replica. It also has a proxy that can cut and delay connections to a server. No process or file outlives
// the test process, even if the test process is killed.
package pgtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Durable lists settings for Start that make commits survive a power failure, at the cost of speed. By
// default, a commit survives a crash of the server but not a crash of the machine.
var Durable = []string{"fsync=on", "full_page_writes=on"}

// Server is a PostgreSQL server. Its superuser is animalstore, which has no password. Only the goroutine that
// runs the test may start and stop the server.
type Server struct {
	workspace *workspace
	data      string // the path of the data directory
	port      int
	settings  []string
	process   *process // nil while the server is stopped
	mu        sync.Mutex
	templates map[string]bool // the databases that NewDatabaseFrom has filled; guarded by mu
}

// Start starts a server and stops it when the test ends. Each of the additional settings has the form
// "name=value", as in postgresql.conf.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := newServer(settings...)
	if err != nil {
		t.Fatal(err)
	}
	s.launch(t)
	return s
}

// StartAnotherCluster is like Start, but the server has a system identifier of its own. All other servers are
// copies of one cluster.
func StartAnotherCluster(t testing.TB) *Server {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.workspace.runCommand("", "find", s.data, "-mindepth", "1", "-delete"), s.workspace.initCluster(s.data)); err != nil {
		t.Fatal(err)
	}
	s.launch(t)
	return s
}

// Shared returns a server that all tests in this process share. It is for tests that need only a separate
// database, which NewDatabase creates. Tests must not stop the shared server. It exits with the process.
func Shared(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var shared = sync.OnceValues(func() (*Server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	return s, s.startOnFreePort()
})

// newServer creates a server and its data directory but does not start the server.
func newServer(settings ...string) (*Server, error) {
	w, err := openWorkspace()
	if err != nil {
		return nil, err
	}
	data, err := w.newDataDir()
	return &Server{workspace: w, data: data, settings: settings}, err
}

// launch starts the server and terminates it when the test ends.
func (s *Server) launch(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if err := errors.Join(s.terminate("QUIT"), s.showLog(t, ""), os.RemoveAll(s.data)); err != nil {
			t.Error(err)
		}
	})
	if err := s.startOnFreePort(); err != nil {
		t.Fatal(err)
	}
}

// Kill kills all of the server's processes, as in a crash.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	pid := s.pidFile()
	if err := s.terminate("KILL"); err != nil {
		t.Fatal(err)
	}
	// A killed server leaves two things behind: a few bytes of shared memory, and the pid file, which contains the id
	// of this memory.
	if len(pid) > 6 {
		if _, id, found := strings.Cut(strings.TrimSpace(pid[6]), " "); found {
			// The error is ignored, because it breaks no test.
			_ = s.workspace.runCommand("", "ipcrm", "-m", strings.TrimSpace(id))
		}
	}
	if err := os.Remove(s.pidPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// Stop shuts the server down as an operator would. The server disconnects its clients and writes a
// checkpoint.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.terminate("INT"); err != nil {
		t.Fatal(err)
	}
}

// Restart starts the server again with the same port and data. It first stops the server if it is running.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// startOnFreePort starts the server on a free port. It tries another port if the start fails, for example
// because another program has taken the port meanwhile.
func (s *Server) startOnFreePort() error {
	var err error
	for range 5 {
		if s.port, err = FreePort(); err != nil {
			return err
		}
		if err = s.start(); err == nil {
			return nil
		}
	}
	return err
}

// FreePort returns a free port below the range of ephemeral ports. Outgoing connections do not use such a
// port, so it is still free when the server is restarted.
func FreePort() (int, error) {
	var err error
	for range 100 {
		port := 16000 + rand.IntN(16000)
		listener, listenErr := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err = listenErr; err == nil {
			return port, listener.Close()
		}
	}
	return 0, err
}

func (s *Server) start() error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	program := []string{filepath.Join(s.workspace.bin, "postgres"), "-D", s.data}
	for _, setting := range append([]string{
		"port=" + strconv.Itoa(s.port),
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=",
		"max_connections=200",
		"shared_buffers=32MB",
		"fsync=off",
		"full_page_writes=off",
		// This puts shared memory into the data directory, so that both are removed together.
		"dynamic_shared_memory_type=mmap",
		"log_line_prefix=%m [%p] %d ",
	}, s.settings...) {
		program = append(program, "-c", setting)
	}
	if s.process, err = s.workspace.startProcess(log, program...); err != nil {
		return err
	}
	// Wait until the pid file says that the server is ready. It is not enough that the port accepts
	// connections, because they might reach another server.
	for deadline := time.Now().Add(stuckTimeout); ; {
		if pid := s.pidFile(); len(pid) > 7 && strings.TrimSpace(pid[7]) == "ready" {
			return nil
		}
		if s.process.exited(5*time.Millisecond) || time.Now().After(deadline) {
			text, _ := os.ReadFile(s.logPath())
			return errors.Join(fmt.Errorf("PostgreSQL did not start:\n%s", text), s.terminate("QUIT"))
		}
	}
}

// terminate sends a signal to the server and waits until it has exited. It does nothing if the server is
// stopped.
func (s *Server) terminate(signal string) error {
	if s.process == nil {
		return nil
	}
	err := s.process.terminate(signal)
	s.process = nil
	return err
}

func (s *Server) pidPath() string { return filepath.Join(s.data, "postmaster.pid") }
func (s *Server) logPath() string { return filepath.Join(s.data, "server.log") }

// pidFile returns the lines in postmaster.pid. The seventh line identifies the shared memory and the eighth
// line contains the server's state.
func (s *Server) pidFile() []string {
	text, _ := os.ReadFile(s.pidPath()) // the file does not exist before the server has started
	return strings.Split(string(text), "\n")
}

// Log returns the content of the server's log.
func (s *Server) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// showLog prints the end of the server's log if the test has failed. It prints only lines that contain the given name
// of a database, or all lines if the name is empty.
func (s *Server) showLog(t testing.TB, database string) error {
	if !t.Failed() {
		return nil
	}
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err
	}
	const limit = 40
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, database) {
			lines = append(lines, line)
		}
	}
	last := lines[max(0, len(lines)-limit):]
	t.Logf("the last of %d log lines of PostgreSQL on port %d:\n%s", len(lines), s.port, strings.Join(last, ""))
	return nil
}
