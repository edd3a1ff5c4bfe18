package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// service is the program itself, on a file.
func (b *bench) service(animals int, r request) contestant {
	return b.serviceOn(b.file(), animals, r, 0)
}

// serviceBeside is the program while animals are added.
func (b *bench) serviceBeside(creates int, r request) contestant {
	return b.serviceOn(b.file(), small, r, creates)
}

func (b *bench) serviceOn(e engine, animals int, r request, creates int) contestant {
	return contestant{subject: service, creates: creates, start: func(ctx context.Context, dir string) (target, error) {
		p, base, err := e.start(ctx, dir, animals)
		if err != nil {
			return nil, err
		}
		return b.ready(ctx, &httpTarget{process: p, dir: dir, base: base, request: r, beside: besideRequest(creates)}, "/v1/pets?limit=1")
	}}
}

// bare is the bare handler with what the service answers.
func (b *bench) bare(animals int, r request, decode string) contestant {
	return contestant{subject: bare, start: func(ctx context.Context, dir string) (target, error) {
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
	return contestant{subject: nginx, start: func(ctx context.Context, dir string) (target, error) {
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
	return contestant{subject: pocketbase, start: func(ctx context.Context, dir string) (target, error) {
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
	t.turns = 1 + b.seconds*len(every) // the first is to warm up
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
