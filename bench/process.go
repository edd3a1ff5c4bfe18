package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// timeout is how long a program may take to start or to stop before the run is given up.
const timeout = 30 * time.Second

// process is a program that runs for a while.
type process struct {
	cmd     *exec.Cmd
	logPath string
	began   time.Time
	ended   chan struct{}
}

// startProcess starts a program in a folder; what it says goes into a file there, as it would for an operator.
func startProcess(ctx context.Context, dir string, variables []string, program string, args ...string) (*process, error) {
	p := &process{logPath: filepath.Join(dir, "log.txt"), ended: make(chan struct{})}
	log, err := os.Create(p.logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.Env = append(slices.DeleteFunc(os.Environ(), isSetting), variables...)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = timeout
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.cmd.Wait() // how it ends is no matter; that it does is
		close(p.ended)
	}()
	return p, nil
}

// isSetting tells whether a variable would set up the service: a developer's own do not matter here.
func isSetting(variable string) bool { return strings.HasPrefix(variable, "ANIMALSTORE_") }

// stop ends the program by its process id, and waits until it is gone.
func (p *process) stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM) // one that is gone already needs none
	select {
	case <-p.ended:
		return nil
	case <-time.After(timeout):
		p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not stop within %v", p.cmd.Path, timeout)
	}
}

// waitFor waits until an address answers, and returns with which status, and how long that was after the start.
func (p *process) waitFor(url, key string) (status int, took time.Duration, err error) {
	client := &http.Client{Timeout: timeout}
	defer client.CloseIdleConnections()
	for {
		request, err := http.NewRequest("GET", url, nil)
		if err != nil {
			return 0, 0, err
		}
		request.Header.Set("Authorization", key)
		response, err := client.Do(request)
		took := time.Since(p.began)
		if err == nil {
			return response.StatusCode, took, response.Body.Close()
		}
		select {
		case <-p.ended:
			text, _ := os.ReadFile(p.logPath)
			return 0, 0, fmt.Errorf("%s has ended:\n%s", p.cmd.Path, text)
		case <-time.After(time.Millisecond):
		}
		if took > timeout {
			return 0, 0, fmt.Errorf("%s does not answer: %w", p.cmd.Path, err)
		}
	}
}

// resident is how much memory of the machine the program has now, in bytes.
func (p *process) resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("the system does not tell the memory of %s", p.cmd.Path)
}

// freeAddress is an address of this machine that nobody listens on.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
