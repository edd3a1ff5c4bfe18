package doctor

import (
	"os"

	"animalstore/internal/server"
)

// checkOpenFiles compares the limit on open files with the number of connections that the service may have.
func (x *examiner) checkOpenFiles() {
	if possible := server.ConnectionLimit(x.MaxConnections); possible < x.MaxConnections {
		x.warn("open files", "Raise the limit (ulimit -n, LimitNOFILE= in systemd), or lower --max-connections. The metric process_max_fds shows that of a running service.",
			"the limit of this process allows %d connections of %d", possible, x.MaxConnections)
		return
	}
	x.ok("open files", "the limit of this process allows %d connections", x.MaxConnections)
}

// neededMemory is the number of bytes that a node may need, with two exceptions; see the memory budget in
// docs/operating.md.
const neededMemory = 300_000_000

// checkMemory compares the memory that this process may use with neededMemory.
func (x *examiner) checkMemory() {
	limit, found := memoryLimit()
	if !found {
		return
	}
	if limit >= neededMemory {
		x.ok("memory", "this process may use %s", size(limit))
		return
	}
	action := "Allow at least 300 MB, or better 512 MB (MemoryMax= in systemd, mem_limit in Compose), or set GOMEMLIMIT and --max-connections lower."
	if os.Getenv("GOMEMLIMIT") != "" {
		x.warn("memory", action, "this process may use only %s; GOMEMLIMIT is set and must be below that", size(limit))
		return
	}
	x.problem("memory", action, "this process may use only %s, and the service needs up to %s", size(limit), size[uint64](neededMemory))
}
