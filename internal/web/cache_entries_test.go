package web

import (
	"fmt"
	"testing"
)

const maxBytes, maxKeyBytes = 4 << 20, 3 << 19

// fakeEntry is an entry of this size.
type fakeEntry int

func (e fakeEntry) Bytes() int { return int(e) }

// The size of the cache is limited, whatever clients request. The requests, bodies and links in the entries all count.
func TestResponseCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := NewCacheEntries[fakeEntry](maxBytes, maxKeyBytes)
	for i := range int64(100) {
		request := fmt.Sprint(i % 60)
		c.Put(request, i%7, fakeEntry(maxBytes/50))
		size := 0
		for request, e := range c.byName {
			size += entryOverhead + len(request) + e.entry.Bytes()
		}
		if size != c.size || size > maxBytes || i > 50 && size < maxBytes*9/10 {
			t.Fatalf("%d bytes are cached, but %d were counted", size, c.size)
		}
	}
	for i := range int64(100_000) { // small entries count towards the size, too
		c.Put(fmt.Sprint(i), i%7, fakeEntry(1))
	}
	c.Put("too large", 8, fakeEntry(maxBytes))
	if n, most := len(c.byName), maxBytes/entryOverhead; n > most || n < most/2 {
		t.Errorf("there are %d entries, want at most %d", n, most)
	}
}

// If one API key is used for many different queries, they displace only the cache entries of this key.
func TestCacheHasAShareForEachKey(t *testing.T) {
	t.Parallel()
	c, response := NewCacheEntries[fakeEntry](maxBytes, maxKeyBytes), fakeEntry(2000)
	c.Put("page of a modest key", 1, response)
	largest := 0
	for i := range 20_000 {
		c.Put(fmt.Sprintf("q=%d", i), 2, response)
		largest = max(largest, c.size)
	}
	if c.Get("page of a modest key") == 0 {
		t.Error("the entry of another key was displaced")
	}
	if limit := maxKeyBytes + 4000; largest > limit || largest < maxKeyBytes/2 {
		t.Errorf("the cache grew to %d bytes, want about %d", largest, limit)
	}
	for request := range c.byName {
		c.Remove(request)
	}
	if c.size != 0 || len(c.keySize) != 0 {
		t.Errorf("the empty cache counts %d bytes and %v", c.size, c.keySize)
	}
}
