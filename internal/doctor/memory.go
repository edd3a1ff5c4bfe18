package doctor

import (
	"os"

	"animalstore/internal/shop"
)

// neededMemory is the number of bytes that a node may need, with two exceptions; see the memory budget in
// docs/operating.md.
const neededMemory = 330_000_000

// checkMemory compares the memory that this process may use with neededMemory.
func (x *examiner) checkMemory() {
	limit, found := memoryLimit()
	if !found {
		return
	}
	if limit >= neededMemory {
		x.ok("memory", "this process may use %s", shop.FormatBytes(limit))
		return
	}
	action := "Allow at least 330 MB, or better 768 MB (MemoryMax= in systemd, mem_limit in Compose), or set GOMEMLIMIT and --max-connections lower."
	if os.Getenv("GOMEMLIMIT") != "" {
		x.warn("memory", action, "this process may use only %s; GOMEMLIMIT is set and must be below that", shop.FormatBytes(limit))
		return
	}
	x.problem("memory", action, "this process may use only %s, and the service needs up to %s", shop.FormatBytes(limit), shop.FormatBytes[uint64](neededMemory))
}
