package pgtest

import (
	"strconv"
	"testing"
)

// Signal sends a signal to one of the server's own processes, for example to the checkpointer or the walwriter.
func (s *Server) Signal(t testing.TB, process, signal string) {
	t.Helper()
	direct := Connect(t, s.URL())
	defer direct.Close()
	pid := Value[int](direct, "SELECT pid FROM pg_stat_activity WHERE backend_type = $1", process)
	s.SignalProcess(t, pid, signal)
}

// SignalProcess sends a signal to the server process with the given id.
func (s *Server) SignalProcess(t testing.TB, pid int, signal string) {
	t.Helper()
	if err := s.workspace.runCommand("", "kill", "-s", signal, strconv.Itoa(pid)); err != nil {
		t.Fatal(err)
	}
}

// KillCheckpointer kills the server's checkpointer. The server then ends all sessions and recovers as after a crash,
// while its main process keeps running. KillCheckpointer returns when the server accepts connections again.
func (s *Server) KillCheckpointer(t testing.TB) {
	t.Helper()
	direct := Connect(t, s.URL())
	defer direct.Close()
	const checkpointer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
	before := Value[int](direct, checkpointer)
	s.Signal(t, "checkpointer", "KILL")
	Await(t, "the server to recover", func() bool {
		var pid int
		err := direct.QueryRowContext(t.Context(), checkpointer).Scan(&pid)
		return err == nil && pid != before
	})
}
