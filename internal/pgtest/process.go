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

// stuckTimeout is the time after which an operation counts as stuck. It is generous, for slow machines, and
// no successful test waits for it.
const stuckTimeout = 2 * time.Minute

// supervisorScript runs a server until it reads the name of a signal from stdin, or until stdin is closed
// because the test process has exited. As the server's parent it can rely on the process id that it
// signals. KILL stops the postmaster first, so that it starts no more processes, and then kills all of its
// processes.
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
// reported as a leak.
type process struct {
	cmd     *exec.Cmd
	control *os.File // the write end of the supervisor's stdin
	exit    *os.File // reports EOF when all processes of the server have exited
}

// startProcess starts a program and writes its output to log.
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

// exited waits up to d for all processes of the server to exit, and reports whether they have.
func (r *process) exited(d time.Duration) bool {
	if err := r.exit.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false
	}
	_, err := r.exit.Read(make([]byte, 1))
	return err == io.EOF
}

// terminate sends a signal and waits until all processes have exited.
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
