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
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// state is what the service uses while no attack runs.
type state struct {
	resident    int64 // bytes
	connections int
	goroutines  int
	err         error // the reason why the service did not tell
}

// readState reads the memory of the service's process and asks the service for the rest.
func readState(p *programtest.Program) (s state) {
	if s.resident, s.err = memory(p, "VmRSS"); s.err != nil {
		return s
	}
	ctx, cancel := context.WithTimeout(context.Background(), shopTimeout)
	defer cancel()
	client := &http.Client{Transport: p.Client.Transport}
	status, metrics, err := exchange(ctx, client, "GET", p.URL+"/metrics", "Authorization: Bearer "+programtest.AdminKey, "", "", math.MaxInt64)
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

// memory reads a line of the process's status, such as VmHWM, in bytes.
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

// peak returns the most memory that the process has used since resetPeak.
func peak(t *testing.T, p *programtest.Program) int64 {
	t.Helper()
	bytes, err := memory(p, "VmHWM")
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// resetPeak sets the peak of the process's memory to the memory that it uses now.
func resetPeak(t *testing.T, p *programtest.Program) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Command.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// watchSockets samples the memory that the kernel holds for TCP until stop is called, which returns the most that
// was held. The memory is not part of the process, but it counts towards a limit of its container.
func watchSockets() (stop func() int64) {
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		var highest int64
		for {
			select {
			case <-done:
				most <- highest
				return
			case <-time.After(100 * time.Millisecond):
				highest = max(highest, socketMemory())
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-most
	}
}

// socketMemory returns how many bytes the kernel holds for all TCP connections, or 0 if it does not tell.
func socketMemory() int64 {
	text, _ := os.ReadFile("/proc/net/sockstat")
	_, rest, _ := strings.Cut(string(text), "TCP: ")
	line, _, _ := strings.Cut(rest, "\n")
	_, pages, _ := strings.Cut(line, "mem ")
	n, _ := strconv.ParseInt(strings.TrimSpace(pages), 10, 64)
	return n * int64(os.Getpagesize())
}

// latency summarizes how the service has answered the shop in a period.
type latency struct {
	requests     int
	p50, p99     time.Duration
	errors       int // requests without a response and unexpected statuses, including serverErrors
	serverErrors int // statuses of 500 and more
	firstError   string
}
