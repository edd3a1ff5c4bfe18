package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryLimit returns the amount of memory that this process may use. This is either the memory of the machine or the
// limit of one of the process's control groups, whichever is lowest.
func memoryLimit() (limit uint64, found bool) {
	lower := func(n uint64) {
		if !found || n < limit {
			limit, found = n, true
		}
	}
	if n, ok := totalMemory(); ok {
		lower(n)
	}
	content, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return limit, found
	}
	for line := range strings.Lines(string(content)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, name := "/sys/fs/cgroup", "memory.max"
		if parts[1] == "memory" { // this is how version 1 of control groups lists the memory controller
			root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[0] != "0" {
			continue
		}
		for group := parts[2]; ; group = filepath.Dir(group) {
			if text, err := os.ReadFile(filepath.Join(root, group, name)); err == nil {
				if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // "max" means no limit
					lower(n)
				}
			}
			if group == "/" || group == "." {
				break
			}
		}
	}
	return limit, found
}

// totalMemory returns the memory of the machine.
func totalMemory() (bytes uint64, ok bool) {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			kilobytes, err := strconv.ParseUint(fields[1], 10, 64)
			return kilobytes * 1024, err == nil
		}
	}
	return 0, false
}
