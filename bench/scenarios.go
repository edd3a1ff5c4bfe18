package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
)

// scenario is one case, in which several candidates get the same load. The first candidate is compared with
// all others.
type scenario struct {
	name       string
	candidates []candidate
	thresholds []threshold
	scales     bool // the throughput with 64 connections must be at least as high as with one
	most       int  // the maximum number of connections, or 0 for no maximum
}

// candidate is a subject that takes part in a scenario.
type candidate struct {
	subject           string
	start             func(ctx context.Context, dir string) (target, error)
	concurrentCreates int // number of animals created per second during the load
}

// threshold is a required minimum or maximum for a ratio. The ratio is the throughput of the first candidate divided
// by the throughput of another candidate, both with the given number of connections.
type threshold struct {
	against     string
	connections int
	least, most float64 // 0 means no minimum or no maximum
}

func atLeast(least float64, subject string) threshold {
	return threshold{against: subject, connections: 64, least: least}
}
func atMost(most float64, subject string) threshold {
	return threshold{against: subject, connections: 64, most: most}
}

// with returns the same threshold for another number of connections.
func (t threshold) with(connections int) threshold {
	t.connections = connections
	return t
}

// The subjects in the scenarios about page depth, searches and idempotency keys.
const (
	firstPages      = service + ", first pages"
	thousandthPages = service + ", thousandth page on"
	rareWord        = service + ", a rare word"
	randomPages     = service + ", pages at random cursors"
	withoutKey      = service + ", without a key"
)

// connectionCounts lists the numbers of connections with which each case is measured.
var connectionCounts = []int{1, 64, 256}

// sqliteScenarios returns all cases in which the service uses SQLite.
func (b *bench) sqliteScenarios() []scenario {
	list, create, createOnce, order, get, getAny := listRequest(), createRequest(), createOnceRequest(), orderRequest(large), getRequest(), getAnyRequest()
	top := available(large)
	random := listFrom(randomCursors(large))
	first := listFrom(cursors(2000, func(i int) int64 { return availableID(top - 1 - i) }))
	thousandth := listFrom(cursors(2000, func(i int) int64 { return availableID(top - 999*20 - i) }))

	search := random // no two requests are the same, so no response comes from a cache
	search.path, search.items = "/v1/pets?limit=20&q=zebrafinch&cursor="+placeholder, 0

	records := "/api/collections/pets/records"
	peerList := request{method: "GET", status: 200, items: 20, path: records + "?perPage=20&skipTotal=1&sort=-@rowid&filter=" +
		url.QueryEscape("status='available'")}
	peerGet := request{method: "GET", status: 200, path: records + fmt.Sprintf("/animal%09d", small/2)}
	peerGetAny := request{method: "GET", status: 200, path: records + "/animal0000" + placeholder, parts: getAny.parts}
	peerCreate := create
	peerCreate.path, peerCreate.status = records, 200

	return []scenario{
		{name: "list, first page", candidates: []candidate{
			b.service(small, list), b.bare(small, list, ""), b.previousService(small, list), b.nginx(small, list), b.peer(peerList),
		}, thresholds: []threshold{atLeast(0.80, bare), atLeast(20, pocketbase)}},
		{name: "list, random cursors, a million animals", candidates: []candidate{
			b.service(large, random), b.bare(large, random, ""), b.previousService(large, random),
		}, thresholds: []threshold{atLeast(0.28, bare)}},
		{name: "list, depth of the page, a million animals", candidates: []candidate{
			b.service(large, first).named(firstPages), b.service(large, thousandth).named(thousandthPages),
		}, thresholds: []threshold{atMost(1.2, thousandthPages)}},
		// With 256 connections, the service would refuse some requests, because it limits the number of concurrent
		// searches per key.
		{name: "search, a million animals", candidates: []candidate{
			b.service(large, search).named(rareWord), b.service(large, random).named(randomPages),
		}, thresholds: []threshold{atLeast(0.33, randomPages)}, most: 64},
		{name: "list beside 100 creates a second", candidates: []candidate{
			b.serviceWithCreates(100, list), b.bare(small, list, ""),
		}},
		{name: "list beside 1,000 creates a second", candidates: []candidate{
			b.serviceWithCreates(1000, list), b.bare(small, list, ""),
		}, thresholds: []threshold{atLeast(0.60, bare)}},
		{name: "get, one animal", candidates: []candidate{
			b.service(small, get), b.bare(small, get, ""), b.previousService(small, get), b.nginx(small, get), b.peer(peerGet),
		}, thresholds: []threshold{atLeast(0.80, bare), atLeast(8, pocketbase)}},
		{name: "get, random animals", candidates: []candidate{
			b.service(small, getAny), b.bare(small, getAny, ""), b.peer(peerGetAny),
		}},
		{name: "create", candidates: []candidate{
			b.service(small, create), b.bare(small, create, "pet"), b.previousService(small, create), b.peer(peerCreate),
		}, thresholds: []threshold{atLeast(0.42, bare), atLeast(6, pocketbase)}},
		{name: "create with an idempotency key", candidates: []candidate{
			b.service(small, createOnce), b.bare(small, createOnce, "pet"), b.previousService(small, createOnce), b.service(small, create).named(withoutKey),
		}},
		{name: "place orders", candidates: []candidate{
			b.service(large, order), b.bare(large, order, "order"),
		}},
	}
}

func listRequest() request {
	return request{method: "GET", path: "/v1/pets?status=available&limit=20", key: serviceKey, status: 200, items: 20}
}

// listFrom returns a request for the pages at the given cursors.
func listFrom(cursors []string) request {
	r := listRequest()
	r.path += "&cursor=" + placeholder
	r.parts = cursors
	return r
}

func getRequest() request {
	return request{method: "GET", path: fmt.Sprintf("/v1/pets/%d", small/2), key: serviceKey, status: 200}
}

func getAnyRequest() request {
	r := getRequest()
	r.path = "/v1/pets/" + placeholder
	r.parts = parts(50_000, func(int) string { return fmt.Sprint(anyID()) })
	return r
}

// anyID returns a random five-digit id of an animal.
func anyID() int64 { return small/10 + rand.Int64N(small-small/10) }

// orderRequest returns a request that orders the available animals one after the other.
func orderRequest(animals int) request {
	return request{method: "POST", path: "/v1/store/orders", key: serviceKey, status: 201, body: `{"petId":` + placeholder + `}`, consumesParts: true,
		parts: parts(available(animals), func(i int) string { return fmt.Sprintf("%6d", availableID(i)) })}
}

func createRequest() request {
	return request{method: "POST", path: "/v1/pets", key: serviceKey, status: 201,
		body:  `{"name":"Newcomer ` + placeholder + `","categoryId":7,"status":"available"}`,
		parts: parts(10_000, func(i int) string { return fmt.Sprintf("%05d", i) })}
}

// createOnceRequest returns a request that creates an animal. Each request has its own idempotency key. The keys are
// in random order, like the keys of real clients.
func createOnceRequest() request {
	r := createRequest()
	r.body = strings.Replace(r.body, placeholder, "00000", 1)
	r.idempotency, r.consumesParts = placeholder, true
	r.parts = parts(1_000_000, func(i int) string {
		sum := sha256.Sum256([]byte(strconv.Itoa(i)))
		return hex.EncodeToString(sum[:16])
	})
	return r
}

// concurrentCreateRequest returns a request that creates pace animals per second, in categories with
// two-digit ids.
func concurrentCreateRequest(pace int) request {
	r := createRequest()
	r.body = `{"name":"Beside ` + placeholder + `,"status":"available"}`
	r.parts = parts(10_000, func(i int) string { return fmt.Sprintf(`%05d","categoryId":%d`, i, categories-i%10) })
	r.pace = pace
	return r
}

func parts(n int, part func(i int) string) []string {
	made := make([]string, n)
	for i := range made {
		made[i] = part(i)
	}
	return made
}

func cursors(n int, position func(i int) int64) []string {
	return parts(n, func(i int) string { return formatCursor(position(i)) })
}

// randomCursors returns cursors for random positions in a list. None of them is near the end of the list, so
// every page is full.
func randomCursors(animals int) []string {
	return cursors(50_000, func(int) int64 { return randomPosition(animals) })
}

func randomPosition(animals int) int64 { return 100 + rand.Int64N(int64(animals-100)) }

// formatCursor encodes a position as the service does. It flips the sign bit of the 64-bit number and encodes
// the result in Crockford's base32.
func formatCursor(position int64) string {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	n := uint64(position) ^ 1<<63
	var text [13]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = digits[n&31]
		n >>= 5
	}
	return string(text[:])
}

func (c candidate) named(subject string) candidate {
	c.subject = subject
	return c
}
