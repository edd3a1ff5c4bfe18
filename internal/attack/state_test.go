package attack

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"animalstore/internal/programtest"
)

// state holds the resources that the service uses while no attack is running.
type state struct {
	resident    int64 // in bytes
	connections int
	goroutines  int
	err         error // the reason why the state could not be read, or nil
}

// readState reads the memory usage from the operating system, and the rest from the metrics of the service.
func readState(p *programtest.Program) (s state) {
	if s.resident, s.err = memory(p, "VmRSS"); s.err != nil {
		return s
	}
	ctx, cancel := context.WithTimeout(context.Background(), shopTimeout)
	defer cancel()
	client := &http.Client{Transport: p.Client.Transport}
	status, metrics, err := exchange(ctx, client, "GET", p.URL+"/metrics", "", math.MaxInt64, "Authorization: Bearer "+programtest.AdminKey)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET /metrics: got %d, want 200", status)
	}
	if s.err = err; err == nil {
		s.connections, s.goroutines = metric(metrics, "animalstore_connections"), metric(metrics, "go_goroutines")
	}
	return s
}

// metric returns the value of a gauge, or -1 if it is missing.
func metric(metrics []byte, name string) int {
	_, rest, _ := bytes.Cut(metrics, []byte("\n"+name+" "))
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return -1
	}
	return int(value)
}

// memory returns a value from the process's status file in /proc, such as VmHWM, in bytes.
func memory(p *programtest.Program, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Command.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s", p.Command.Process.Pid, name)
}

// killMemory is the number of bytes of memory above which the service is killed, so that an attack cannot exhaust the
// memory of this machine.
const killMemory = 4_000_000_000

// watcher samples memory usage while the service is running.
type watcher struct {
	p       *programtest.Program
	mu      sync.Mutex // guards the fields below
	sockets int64      // the most bytes that the kernel has held for TCP connections since the last call of reset
	killed  bool       // whether the service has exceeded killMemory
}

// watch starts a watcher for the service. Call stop to end it.
func watch(p *programtest.Program) (w *watcher, stop func()) {
	w = &watcher{p: p}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				w.sample()
			}
		}
	})
	return w, func() {
		close(done)
		running.Wait()
	}
}

func (w *watcher) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sockets = max(w.sockets, socketMemory())
	if resident, err := memory(w.p, "VmRSS"); err == nil && resident > killMemory && !w.killed {
		w.killed = true
		w.p.Kill()
	}
}

// reset makes peak ignore the memory usage before this call.
func (w *watcher) reset() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sockets = 0; w.killed {
		return nil
	}
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", w.p.Command.Process.Pid), []byte("5"), 0)
}

// peak returns the highest memory usage of the service since the last call of reset, and the most memory that the
// kernel has held for connections.
func (w *watcher) peak() (service, sockets int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killed {
		return killMemory, w.sockets, nil
	}
	service, err = memory(w.p, "VmHWM")
	return service, w.sockets, err
}

// socketMemory returns how many bytes the kernel holds for all TCP connections, or 0 if that is unknown. This memory
// does not belong to the process, but counts towards the limit of its container.
func socketMemory() int64 {
	text, _ := os.ReadFile("/proc/net/sockstat")
	_, rest, _ := strings.Cut(string(text), "TCP: ")
	line, _, _ := strings.Cut(rest, "\n")
	_, pages, _ := strings.Cut(line, "mem ")
	n, _ := strconv.ParseInt(strings.TrimSpace(pages), 10, 64)
	return n * int64(os.Getpagesize())
}

// latency summarizes the service's responses to the shop in a period.
type latency struct {
	requests     int
	p50, p99     time.Duration
	errors       int // requests without a response and unexpected statuses, including serverErrors
	serverErrors int // statuses of 500 and more
	firstError   string
}
