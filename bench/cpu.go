package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the times in /proc/PID/stat.
const clockTick = 10 * time.Millisecond

// cpuTime returns the processor time that a process and its children have used so far. It returns 0 for the
// process id 0 and on systems without /proc.
func cpuTime(pid int) (total time.Duration) {
	if pid == 0 {
		return 0
	}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // Glob fails only for a malformed pattern
	for _, file := range files {
		text, _ := os.ReadFile(file) // the process may have exited in the meantime
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest) // fields[0] is field 3 in proc(5)
		if len(fields) < 15 {
			continue
		}
		used := fields[11:13] // the time spent in user mode and in the kernel
		switch {
		case file == fmt.Sprintf("/proc/%d/stat", pid):
			used = fields[11:15] // these fields include the time of children that have exited
		case fields[1] != strconv.Itoa(pid):
			continue
		}
		for _, ticks := range used {
			n, _ := strconv.Atoi(ticks)
			total += time.Duration(n) * clockTick
		}
	}
	return total
}
