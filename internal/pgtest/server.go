// Package pgtest starts PostgreSQL for tests: real servers, in temporary folders, alone or as a primary with a replica, and
// a proxy that cuts and slows the way to them. Nothing is left when the test process ends, even if it is killed.
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

// Durable are settings for Start under which commits also survive a power cut, at the speed that has. The defaults do
// without: a commit then survives the end of all server processes, but not the machine's.
var Durable = []string{"fsync=on", "full_page_writes=on"}

// Server is a PostgreSQL server. Its user animalstore is a superuser who needs no password. The methods that start and stop
// it are for the test's own goroutine.
type Server struct {
	workspace *workspace
	data      string // its folder
	port      int
	settings  []string
	process   *process // nil while it is stopped
}

// Start starts a server, with settings of postgresql.conf ("name=value") where the test needs other ones, and stops it when
// the test ends.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := newServer(settings...)
	if err != nil {
		t.Fatal(err)
	}
	s.launch(t)
	return s
}

// Shared returns the one server of this process, for tests that need but a database of their own: its NewDatabase. It ends
// with the process; stopping it would stop it for everybody.
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

// newServer makes a server that has not been started.
func newServer(settings ...string) (*Server, error) {
	w, err := openWorkspace()
	if err != nil {
		return nil, err
	}
	data, err := w.newDataDir()
	return &Server{workspace: w, data: data, settings: settings}, err
}

// launch starts the server, and ends it with the test.
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

// Kill ends all processes of the server at once, as a crash does.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	pid := s.pidFile()
	if err := s.terminate("KILL"); err != nil {
		t.Fatal(err)
	}
	// What a killed server leaves behind: a few bytes of shared memory, which outlive it, and the file that names them.
	if len(pid) > 6 {
		if _, id, found := strings.Cut(strings.TrimSpace(pid[6]), " "); found {
			_ = s.workspace.runCommand("", "ipcrm", "-m", strings.TrimSpace(id)) // where that cannot be done, no test is wrong
		}
	}
	if err := os.Remove(s.pidPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// Stop stops the server as its operator does: it tells its clients and writes down what it has.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.terminate("INT"); err != nil {
		t.Fatal(err)
	}
}

// Restart starts the server again, on its port, with its data; one that still runs is stopped before.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// startOnFreePort starts a new server on a free port. Somebody may take the port in between: then on another one.
func (s *Server) startOnFreePort() error {
	var err error
	for range 5 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.start(); err == nil {
			return nil
		}
	}
	return err
}

// freePort picks from below the ports that systems give to outgoing connections and to listeners that do not choose: a
// server that was killed must find its port free when it starts again.
func freePort() (int, error) {
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
		"dynamic_shared_memory_type=mmap", // in the folder, so that it goes with it when the server is killed
		"log_line_prefix=%m [%p] %d ",
	}, s.settings...) {
		program = append(program, "-c", setting)
	}
	if s.process, err = s.workspace.startProcess(log, program...); err != nil {
		return err
	}
	// Its own file says when it is ready. That its port answers would say less: it may be somebody else's.
	for deadline := time.Now().Add(stuckTimeout); ; {
		if pid := s.pidFile(); len(pid) > 7 && strings.TrimSpace(pid[7]) == "ready" {
			return nil
		}
		if s.process.exited(5*time.Millisecond) || time.Now().After(deadline) {
			text, _ := os.ReadFile(s.logPath())
			return errors.Join(fmt.Errorf("PostgreSQL does not start:\n%s", text), s.terminate("QUIT"))
		}
	}
}

// terminate ends the server by a signal, if it runs.
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

// pidFile returns the lines of the file that a running server keeps: the seventh has its shared memory, the eighth its state.
func (s *Server) pidFile() []string {
	text, _ := os.ReadFile(s.pidPath()) // there is none before the start
	return strings.Split(string(text), "\n")
}

// showLog shows the last of what the server logged for a database (all of them: ""), if the test has failed.
func (s *Server) showLog(t testing.TB, database string) error {
	if !t.Failed() {
		return nil
	}
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err
	}
	const most = 40
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, database) {
			lines = append(lines, line)
		}
	}
	last := lines[max(0, len(lines)-most):]
	t.Logf("the last of %d lines that PostgreSQL on port %d logged:\n%s", len(lines), s.port, strings.Join(last, ""))
	return nil
}
