package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// service returns the candidate for the service on SQLite.
func (b *bench) service(animals int, r request) candidate {
	return b.serviceOn(b.sqliteEngine(serviceProgram), animals, r, 0)
}

// previousService returns the candidate for the previous version of the service on SQLite.
func (b *bench) previousService(animals int, r request) candidate {
	return b.serviceOn(b.sqliteEngine(previousProgram), animals, r, 0).named(previous)
}

// serviceWithCreates returns the candidate for the service on SQLite while other clients create animals.
// creates is the number of animals created per second.
func (b *bench) serviceWithCreates(creates int, r request) candidate {
	return b.serviceOn(b.sqliteEngine(serviceProgram), small, r, creates)
}

func (b *bench) serviceOn(e engine, animals int, r request, creates int) candidate {
	return candidate{subject: service, concurrentCreates: creates, start: func(ctx context.Context, dir string) (target, error) {
		p, base, err := e.start(ctx, dir, animals)
		if err != nil {
			return nil, err
		}
		return b.prepare(ctx, &httpTarget{process: p, database: e.database(), dir: dir, base: base, request: r, concurrent: concurrentCreateRequest(creates)}, "/v1/pets?limit=1")
	}}
}

// bare returns the candidate for the bare handler, which sends a response recorded from the service. If decode is
// "pet" or "order", the handler instead decodes the request body and responds with a pet or an order.
func (b *bench) bare(animals int, r request, decode string) candidate {
	return candidate{subject: bare, start: func(ctx context.Context, dir string) (target, error) {
		a, err := b.recordedResponse(ctx, animals, r)
		if err != nil {
			return nil, err
		}
		p, base, err := b.startBare(ctx, dir, a, decode)
		if err != nil {
			return nil, err
		}
		r.status = a.Status
		return b.prepare(ctx, &httpTarget{process: p, dir: dir, base: base, request: r}, "")
	}}
}

func (b *bench) nginx(animals int, r request) candidate {
	return candidate{subject: nginx, start: func(ctx context.Context, dir string) (target, error) {
		a, err := b.recordedResponse(ctx, animals, r)
		if err != nil {
			return nil, err
		}
		p, base, err := b.startNginx(ctx, dir, a)
		if err != nil {
			return nil, err
		}
		return b.prepare(ctx, &httpTarget{process: p, dir: dir, base: base, request: r}, "/")
	}}
}

// peer returns the candidate for PocketBase, which runs on a copy of its data.
func (b *bench) peer(r request) candidate {
	return candidate{subject: pocketbase, start: func(ctx context.Context, dir string) (target, error) {
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
			return nil, stopAfter(t, err)
		}
		token, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil {
			return nil, stopAfter(t, err)
		}
		t.request.key = strings.TrimSpace(string(token))
		return b.prepare(ctx, t, "/api/health")
	}}
}

// peerData returns the path of PocketBase's filled data folder.
func (b *bench) peerData(ctx context.Context) (string, error) {
	return b.cache.folder("pocketbase", func(dir string) error {
		return run(ctx, "", b.program("pocketbase"), "fill", dir, fmt.Sprint(small))
	})
}

// prepare waits until a started target responds at path, and warms it up for the measurement. If this fails, it stops
// the target.
func (b *bench) prepare(ctx context.Context, t *httpTarget, path string) (target, error) {
	t.turns = 1 + b.seconds*len(connectionCounts) // the first turn is the warm-up
	if err := t.prepare(ctx, path); err != nil {
		return nil, stopAfter(t, err)
	}
	return t, nil
}

// stopAfter stops a target after an error and returns that error. If stopping the target also fails, it returns both
// errors.
func stopAfter(t target, err error) error {
	if stopErr := t.stop(); stopErr != nil {
		return fmt.Errorf("%w; %w", err, stopErr)
	}
	return err
}
