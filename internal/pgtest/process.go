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

// stuckTimeout is how long anything here may take before it counts as stuck. It is long for slow machines; nothing waits for it.
const stuckTimeout = 2 * time.Minute

// supervisorScript runs a server until it reads the name of a signal, or until the other end of its stdin is closed because the
// test process has ended, however it did. It is the server's parent, so the process id that it signals is never anybody
// else's. A crash (KILL) takes all of the server's processes at once; the first is stopped before, so that it starts no more.
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

// process is one run of a program under the supervisor. It needs no goroutine here, so a shared server is no leak.
type process struct {
	cmd     *exec.Cmd
	control *os.File // our end of the supervisor's stdin
	exit    *os.File // reads as ended when no process of the server is left
}

// startProcess starts a program whose output goes to a log.
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

// exited tells whether all processes of the server have ended, and waits up to d for it.
func (r *process) exited(d time.Duration) bool {
	if err := r.exit.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false
	}
	_, err := r.exit.Read(make([]byte, 1))
	return err == io.EOF
}

// terminate sends a signal and waits until all is over.
func (r *process) terminate(signal string) error {
	_, err := fmt.Fprintln(r.control, signal)
	if err := errors.Join(err, r.control.Close()); err != nil {
		return err
	}
	if !r.exited(stuckTimeout) {
		return fmt.Errorf("the server is still there %v after %s", stuckTimeout, signal)
	}
	var exit *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) { // how a stopped server ends is no matter
		return err
	}
	return r.exit.Close()
}
