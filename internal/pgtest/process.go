package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// stuckTimeout is the time after which an operation is considered stuck. It is generous because machines may
// be slow. A successful test never waits this long.
const stuckTimeout = 2 * time.Minute

// supervisorScript runs a server until it reads the name of a signal from stdin, or until stdin is closed because the
// test process has exited. Then it sends this signal to the server, or QUIT if it has read none. The server is a child
// process of the script, so its process id cannot pass to another process before the script waits for it. If the signal
// is KILL, the script first stops the postmaster, so that the postmaster starts no more processes. Then it kills all of
// the server's processes.
const supervisorScript = `
"$@" &
server=$!
exec 3>&-
read -r signal
if [ "$signal" = KILL ]; then
	kill -STOP $server
	pkill -KILL -P $server
fi
kill -s "${signal:-QUIT}" $server
wait $server
`

// process is a program that runs under the supervisor. It needs no goroutine, so the shared server is not
// reported as a goroutine leak.
type process struct {
	cmd     *exec.Cmd
	control *os.File // the write end of the supervisor's stdin
	exit    *os.File // reaches EOF when all of the server's processes have exited
}

// startProcess starts a program under the supervisor and writes the program's output to log.
func (w *workspace) startProcess(log *os.File, program ...string) (*process, error) {
	stdin, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	lives, life, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, control.Close())
	}
	defer life.Close()
	cmd := w.command(context.Background(), "sh", append([]string{"-c", supervisorScript, "sh"}, program...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, log, log
	cmd.ExtraFiles = []*os.File{life, w.alive}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, control.Close(), lives.Close())
	}
	return &process{cmd, control, lives}, nil
}

// exited waits up to d for all of the server's processes to exit and reports whether they have exited.
func (r *process) exited(d time.Duration) bool {
	if err := r.exit.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false
	}
	_, err := r.exit.Read(make([]byte, 1))
	return err == io.EOF
}

// terminate sends a signal to the server and waits until all of its processes have exited.
func (r *process) terminate(signal string) error {
	_, err := fmt.Fprintln(r.control, signal)
	if err := errors.Join(err, r.control.Close()); err != nil {
		return err
	}
	if !r.exited(stuckTimeout) {
		return fmt.Errorf("the server still runs %v after %s", stuckTimeout, signal)
	}
	var exit *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) { // the exit status does not matter
		return err
	}
	return r.exit.Close()
}
