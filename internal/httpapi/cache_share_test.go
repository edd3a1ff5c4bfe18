package httpapi

import (
	"fmt"
	"testing"
)

// A key that sends ever different queries displaces only its own entries.
func TestCacheHasAShareForEachKey(t *testing.T) {
	t.Parallel()
	c := newResponseCache(nil)
	response := func(key int64) *entry {
		return &entry{cachedResponse: cachedResponse{body: make([]byte, 2000)}, key: key}
	}
	c.store("page of a modest key", response(1))
	largest := 0
	for i := range 20_000 {
		c.store(fmt.Sprintf("q=%d", i), response(2))
		largest = max(largest, c.size)
	}
	if c.entries["page of a modest key"] == nil {
		t.Error("the entry of another key was displaced")
	}
	if limit := maxKeyCacheBytes + 4000; largest > limit || largest < maxKeyCacheBytes/2 {
		t.Errorf("the cache grew to %d bytes, want about %d", largest, limit)
	}
	for request := range c.entries {
		c.remove(request)
	}
	if c.size != 0 || len(c.keySize) != 0 {
		t.Errorf("the empty cache counts %d bytes and %v", c.size, c.keySize)
	}
}
