package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// trial is one case: the same question to several subjects. All others are compared with the first.
type trial struct {
	name        string
	connections []int
	contestants []contestant
	bars        []bar
}

// contestant is a subject of a trial.
type contestant struct {
	subject string
	start   func(ctx context.Context, dir string) (target, error)
}

// bar is what the first subject of a trial is to reach, beside another one.
type bar struct {
	beside      string
	connections int
	least, most float64 // of the ratio; 0: no matter
}

// The subjects of the trial of depth.
const (
	firstPages      = service + ", first pages"
	thousandthPages = service + ", thousandth page on"
)

// trials are all cases of HTTP against the embedded database.
func (b *bench) trials() []trial {
	every, busy := []int{1, 64, 256}, []int{64}
	list := request{method: "GET", path: "/v1/pets?status=available&limit=20", key: serviceKey, status: 200, items: 20}
	deep := list
	deep.path += "&cursor=" + gap
	random, first, thousandth := deep, deep, deep
	random.parts = cursors(50_000, func(int) int64 { return 100 + rand.Int64N(large-100) })
	top := available(large)
	first.parts = cursors(2000, func(i int) int64 { return availableID(top - 1 - i) })
	thousandth.parts = cursors(2000, func(i int) int64 { return availableID(top - 999*20 - i) })
	get := request{method: "GET", path: fmt.Sprintf("/v1/pets/%d", small/2), key: serviceKey, status: 200}
	getAny := get
	getAny.path = "/v1/pets/" + gap
	getAny.parts = parts(50_000, func(int) string { return fmt.Sprint(small/10 + rand.IntN(small-small/10)) })
	create := request{method: "POST", path: "/v1/pets", key: serviceKey, status: 201,
		body:  `{"name":"Newcomer ` + gap + `","categoryId":7,"status":"available"}`,
		parts: parts(10_000, func(i int) string { return fmt.Sprintf("%05d", i) })}
	order := request{method: "POST", path: "/v1/store/orders", key: serviceKey, status: 201, body: `{"petId":` + gap + `}`,
		parts: parts(available(small), func(i int) string { return fmt.Sprintf("%6d", availableID(i)) })}

	records := "/api/collections/pets/records"
	peerList := request{method: "GET", status: 200, items: 20, path: records + "?perPage=20&skipTotal=1&sort=-@rowid&filter=" +
		url.QueryEscape("status='available'")}
	peerGet := request{method: "GET", status: 200, path: records + fmt.Sprintf("/animal%09d", small/2)}
	peerGetAny := request{method: "GET", status: 200, path: records + "/animal0000" + gap, parts: getAny.parts}
	peerCreate := create
	peerCreate.path, peerCreate.status = records, 200

	return []trial{
		{"list, first page", every, []contestant{
			b.service(small, list), b.bare(small, list, ""), b.nginx(small, list), b.peer(peerList),
		}, []bar{{bare, 64, 0.90, 0}, {pocketbase, 64, 20, 0}}},
		{"list, random cursors, a million animals", busy, []contestant{
			b.service(large, random), b.bare(large, random, ""),
		}, []bar{{bare, 64, 0.30, 0}}},
		{"list, depth of the page, a million animals", busy, []contestant{
			b.named(firstPages, b.service(large, first)), b.named(thousandthPages, b.service(large, thousandth)),
		}, []bar{{thousandthPages, 64, 0, 1.2}}},
		{"list beside 100 creates a second", busy, []contestant{
			b.serviceBeside(100, list), b.bare(small, list, ""),
		}, nil},
		{"list beside 1,000 creates a second", busy, []contestant{
			b.serviceBeside(1000, list), b.bare(small, list, ""),
		}, []bar{{bare, 64, 0.70, 0}}},
		{"get, one animal", every, []contestant{
			b.service(small, get), b.bare(small, get, ""), b.nginx(small, get), b.peer(peerGet),
		}, []bar{{bare, 64, 0.90, 0}, {pocketbase, 64, 8, 0}}},
		{"get, random animals", busy, []contestant{
			b.service(small, getAny), b.bare(small, getAny, ""), b.peer(peerGetAny),
		}, nil},
		{"create", every, []contestant{
			b.service(small, create), b.bare(small, create, "pet"), b.peer(peerCreate),
		}, []bar{{bare, 64, 0.45, 0}, {pocketbase, 64, 6, 0}}},
		{"place orders", busy, []contestant{
			b.service(small, order), b.bare(small, order, "order"),
		}, nil},
	}
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

// formatCursor writes a position in a list as the service does: Crockford's base32 of its 64 bits, the sign flipped.
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

func (b *bench) named(subject string, c contestant) contestant {
	c.subject = subject
	return c
}

// service is the program itself.
func (b *bench) service(animals int, r request) contestant { return b.serviceWith(animals, r, 0) }

// serviceBeside is the program while animals are added.
func (b *bench) serviceBeside(creates int, r request) contestant {
	return b.serviceWith(small, r, creates)
}

func (b *bench) serviceWith(animals int, r request, creates int) contestant {
	return contestant{service, func(ctx context.Context, dir string) (target, error) {
		p, base, err := b.startService(ctx, dir, animals)
		if err != nil {
			return nil, err
		}
		return b.ready(ctx, &httpTarget{process: p, dir: dir, base: base, request: r, creates: creates, note: b.note}, "/v1/pets?limit=1")
	}}
}

// bare is the bare handler with what the service answers.
func (b *bench) bare(animals int, r request, decode string) contestant {
	return contestant{bare, func(ctx context.Context, dir string) (target, error) {
		a, err := b.answerTo(ctx, animals, r)
		if err != nil {
			return nil, err
		}
		p, base, err := b.startBare(ctx, dir, a, decode)
		if err != nil {
			return nil, err
		}
		r.status = a.Status
		return b.ready(ctx, &httpTarget{process: p, dir: dir, base: base, request: r}, "")
	}}
}

func (b *bench) nginx(animals int, r request) contestant {
	return contestant{nginx, func(ctx context.Context, dir string) (target, error) {
		a, err := b.answerTo(ctx, animals, r)
		if err != nil {
			return nil, err
		}
		p, base, err := b.startNginx(ctx, dir, a)
		if err != nil {
			return nil, err
		}
		return b.ready(ctx, &httpTarget{process: p, dir: dir, base: base, request: r}, "/")
	}}
}

// peer is PocketBase on a copy of its data.
func (b *bench) peer(r request) contestant {
	return contestant{pocketbase, func(ctx context.Context, dir string) (target, error) {
		data, err := b.peerData(ctx)
		if err != nil {
			return nil, err
		}
		if err := copyFolder(data, dir); err != nil {
			return nil, err
		}
		addr, err := freeAddress()
		if err != nil {
			return nil, err
		}
		p, err := startProcess(ctx, dir, nil, b.program("pocketbase"), "serve", dir, addr)
		if err != nil {
			return nil, err
		}
		t := &httpTarget{process: p, dir: dir, base: "http://" + addr, request: r}
		if _, _, err := p.waitFor(t.base+"/api/health", ""); err != nil {
			return nil, closing(t, err)
		}
		token, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil {
			return nil, closing(t, err)
		}
		t.request.key = strings.TrimSpace(string(token))
		return b.ready(ctx, t, "/api/health")
	}}
}

// peerData returns the filled data folder of the peer.
func (b *bench) peerData(ctx context.Context) (string, error) {
	return b.cache.folder("pocketbase", func(dir string) error {
		return run(ctx, "", b.program("pocketbase"), "fill", dir, fmt.Sprint(small))
	})
}

// ready prepares a target that was started, and stops it where that fails.
func (b *bench) ready(ctx context.Context, t *httpTarget, path string) (target, error) {
	t.warm = t.request
	if strings.HasSuffix(t.request.path, "/orders") { // an animal can be ordered once
		const warming = 20_000
		t.warm.parts, t.request.parts = t.request.parts[:warming], t.request.parts[warming:]
	}
	if err := t.prepare(ctx, path); err != nil {
		return nil, closing(t, err)
	}
	return t, nil
}

// closing stops a target that is of no use.
func closing(t target, err error) error {
	if stopErr := t.stop(); stopErr != nil {
		return fmt.Errorf("%w; %w", err, stopErr)
	}
	return err
}
