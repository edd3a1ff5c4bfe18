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

// timeout is the maximum time that a program may take to start or to stop.
const timeout = 30 * time.Second

// process is a running program.
type process struct {
	cmd     *exec.Cmd
	logPath string
	began   time.Time
	ended   chan struct{}
}

// startProcess starts a program in a folder and writes its output to a log file in this folder.
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
		p.cmd.Wait() // the exit status does not matter
		close(p.ended)
	}()
	return p, nil
}

// isSetting reports whether an environment variable configures the service. Such variables are removed so
// that the developer's own settings do not affect the benchmark.
func isSetting(variable string) bool { return strings.HasPrefix(variable, "ANIMALSTORE_") }

// stop terminates the program and waits until it has exited.
func (p *process) stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM) // Signal fails if the program has already exited
	select {
	case <-p.ended:
		return nil
	case <-time.After(timeout):
		p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not stop within %v", p.cmd.Path, timeout)
	}
}

// waitFor waits until a URL responds. It returns the response's status and the time since the program was
// started.
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
			return 0, 0, fmt.Errorf("%s has exited:\n%s", p.cmd.Path, text)
		case <-time.After(time.Millisecond):
		}
		if took > timeout {
			return 0, 0, fmt.Errorf("%s does not respond: %w", p.cmd.Path, err)
		}
	}
}

// resident returns the program's resident memory in bytes.
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
	return 0, fmt.Errorf("cannot read the memory of %s", p.cmd.Path)
}

// parentOf returns the process id of a process's parent.
func parentOf(pid int) (parent int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "PPid:"); found {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("cannot read the parent of process %d", pid)
}

// freeAddress returns a local address with a free port.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
