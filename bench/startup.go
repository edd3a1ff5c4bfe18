package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// starts is the name of the startup case, without the engine's prefix.
const starts = "starts"

// The maximum startup time and memory for a store with a million animals.
const (
	maxStartTime = 200 * time.Millisecond
	maxMemory    = 100 << 20
)

// startupKey identifies the results for one engine and one store size.
type startupKey struct {
	prefix  string
	animals int
}

// startup is the result of starting the service once.
type startup struct {
	took                    time.Duration // time until the first response
	memory, memoryAfterLoad int64         // resident memory in bytes at the first response and after the load
}

// measureStart starts the service once on a store with the given number of animals. It measures the startup
// time and the memory before and after a load.
func (b *bench) measureStart(ctx context.Context, e engine, animals int) (result startup, err error) {
	if err := e.clear(ctx); err != nil {
		return startup{}, err
	}
	dir, err := os.MkdirTemp(b.work, "start-")
	if err != nil {
		return startup{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, base, err := e.start(ctx, dir, animals)
	if err != nil {
		return startup{}, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	list := listRequest()
	list.items = 0 // do not count the items because the store may be empty
	status, took, err := p.waitFor(base+list.path, list.key)
	if err != nil {
		return startup{}, err
	}
	if status != 200 {
		return startup{}, fmt.Errorf("the first response is %d", status)
	}
	result.took = took
	if result.memory, err = p.resident(); err != nil {
		return startup{}, err
	}
	if animals > 0 {
		list.path += "&cursor=" + placeholder
		list.parts = randomCursors(animals)
	}
	if _, err := load(ctx, dir, base, list, 64, time.Second); err != nil {
		return startup{}, err
	}
	result.memoryAfterLoad, err = p.resident()
	return result, err
}

// measureStarts measures one start for each store size.
func (b *bench) measureStarts(ctx context.Context, e engine) error {
	if !b.wants(e.prefix + starts) {
		return nil
	}
	b.progress(e.prefix + starts)
	for _, animals := range []int{none, small, large} {
		result, err := b.measureStart(ctx, e, animals)
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			b.results.fail(e.prefix+starts, fmt.Sprintf("%d animals", animals), err)
			continue
		}
		at := startupKey{e.prefix, animals}
		b.progress("  %-32s %s", fmt.Sprintf("%d animals", animals), milliseconds(result.took))
		b.startups[at] = append(b.startups[at], result)
	}
	return nil
}

// startTable returns the results table for starts. Its figures are medians. Only SQLite has thresholds.
func startTable(startups map[startupKey][]startup) string {
	var b strings.Builder
	b.WriteString("| Start with | First response | Memory then | Memory after a second of lists at 64 connections | Target | Met |\n")
	b.WriteString("|---|--:|--:|--:|---|---|\n")
	for _, at := range []startupKey{{"", none}, {"", small}, {"", large}, {inPostgres, none}, {inPostgres, small}, {inPostgres, large}} {
		results := startups[at]
		if len(results) == 0 {
			continue
		}
		took := medianOf(results, func(o startup) time.Duration { return o.took })
		memory := medianOf(results, func(o startup) int64 { return o.memory })
		loaded := medianOf(results, func(o startup) int64 { return o.memoryAfterLoad })
		wanted, reached := "", ""
		if at == (startupKey{"", large}) {
			wanted = "< 200 ms, < 100 MB"
			reached = yesNo(took < maxStartTime && memory < maxMemory && loaded < maxMemory)
		}
		fmt.Fprintf(&b, "| %s%d animals | %s | %s | %s | %s | %s |\n", at.prefix, at.animals, milliseconds(took), megabytes(memory), megabytes(loaded), wanted, reached)
	}
	return b.String()
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }
