package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// starts is the name of the case, in every kind of database.
const starts = "starts"

// The bar for a start with a million animals.
const (
	mostStart  = 200 * time.Millisecond
	mostMemory = 100 << 20
)

// birthplace is where the service starts.
type birthplace struct {
	cases   string // of the engine
	animals int
}

// birth is one start of the service.
type birth struct {
	took           time.Duration // to the first answer
	memory, loaded int64         // resident, in bytes: at the first answer, and after a load of lists
}

// measureStart starts the service on a store with so many animals, and looks at it before and after a load.
func (b *bench) measureStart(ctx context.Context, e engine, animals int) (born birth, err error) {
	if err := e.clear(ctx); err != nil {
		return birth{}, err
	}
	dir, err := os.MkdirTemp(b.work, "start-")
	if err != nil {
		return birth{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, base, err := e.start(ctx, dir, animals)
	if err != nil {
		return birth{}, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	list := listRequest()
	list.items = 0 // there may be none
	status, took, err := p.waitFor(base+list.path, list.key)
	if err != nil {
		return birth{}, err
	}
	if status != 200 {
		return birth{}, fmt.Errorf("the first answer is %d", status)
	}
	born.took = took
	if born.memory, err = p.resident(); err != nil {
		return birth{}, err
	}
	if animals > 0 {
		list.path += "&cursor=" + gap
		list.parts = randomCursors(animals)
	}
	if _, err := load(ctx, dir, base, list, 64, time.Second); err != nil {
		return birth{}, err
	}
	born.loaded, err = p.resident()
	return born, err
}

// measureStarts measures one start with each number of animals.
func (b *bench) measureStarts(ctx context.Context, e engine) error {
	if !b.wants(e.cases + starts) {
		return nil
	}
	b.say(e.cases + starts)
	for _, animals := range []int{none, small, large} {
		born, err := b.measureStart(ctx, e, animals)
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			b.results.fail(e.cases+starts, fmt.Sprintf("%d animals", animals), err)
			continue
		}
		at := birthplace{e.cases, animals}
		b.say("  %-32s %s", fmt.Sprintf("%d animals", animals), milliseconds(born.took))
		b.births[at] = append(b.births[at], born)
	}
	return nil
}

// startTable writes the medians of all starts. There is a bar for a file alone.
func startTable(births map[birthplace][]birth) string {
	var b strings.Builder
	b.WriteString("| start with | first answer | resident then | after a second of lists at 64 connections | to reach | reached |\n")
	b.WriteString("|---|--:|--:|--:|---|---|\n")
	for _, at := range []birthplace{{"", none}, {"", small}, {"", large}, {inPostgres, none}, {inPostgres, small}, {inPostgres, large}} {
		of := births[at]
		if len(of) == 0 {
			continue
		}
		took := medianOf(of, func(o birth) time.Duration { return o.took })
		memory := medianOf(of, func(o birth) int64 { return o.memory })
		loaded := medianOf(of, func(o birth) int64 { return o.loaded })
		wanted, reached := "", ""
		if at == (birthplace{"", large}) {
			wanted = "< 200 ms, < 100 MB"
			reached = yesNo(took < mostStart && memory < mostMemory && loaded < mostMemory)
		}
		fmt.Fprintf(&b, "| %s%d animals | %s | %s | %s | %s | %s |\n", at.cases, at.animals, milliseconds(took), megabytes(memory), megabytes(loaded), wanted, reached)
	}
	return b.String()
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }
