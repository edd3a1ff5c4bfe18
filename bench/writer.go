package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// writer adds animals at an even pace, beside a load.
type writer struct {
	cancel context.CancelFunc
	work   sync.WaitGroup
	began  time.Time
	done   atomic.Int64
	failed atomic.Pointer[error]
}

// writers is how many creates may wait for their answers at once.
const writers = 64

func startWriter(ctx context.Context, base string, perSecond int) *writer {
	ctx, cancel := context.WithCancel(ctx)
	w := &writer{cancel: cancel, began: time.Now()}
	turns := make(chan int, writers)
	w.work.Go(func() {
		defer close(turns)
		for n := 0; ; n++ {
			select {
			case <-time.After(time.Until(w.began.Add(time.Duration(n) * time.Second / time.Duration(perSecond)))):
			case <-ctx.Done():
				return
			}
			select {
			case turns <- n: // one that is late is not left out: the pace is made up for
			case <-ctx.Done():
				return
			}
		}
	})
	for range writers {
		w.work.Go(func() {
			if err := w.create(strings.TrimPrefix(base, "http://"), turns); err != nil {
				w.failed.Store(&err)
				cancel()
			}
		})
	}
	return w
}

// create adds one animal at each turn. It speaks for itself: net/http's own client would take more of the machine than the
// service does.
func (w *writer) create(host string, turns <-chan int) error {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for n := range turns {
		body := fmt.Sprintf(`{"name":"Beside %d","categoryId":%d,"status":"available"}`, n, n%categories+1)
		conn.SetDeadline(time.Now().Add(patience))
		_, err := fmt.Fprintf(conn, "POST /v1/pets HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			host, serviceKey, len(body), body)
		if err != nil {
			return err
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		io.Copy(io.Discard, answer.Body)
		if answer.StatusCode != http.StatusCreated {
			return fmt.Errorf("a create beside the load got %s", answer.Status)
		}
		w.done.Add(1)
	}
	return nil
}

// stop ends it and returns how many it added each second.
func (w *writer) stop() (perSecond float64, err error) {
	rate := float64(w.done.Load()) / time.Since(w.began).Seconds()
	w.cancel()
	w.work.Wait()
	if failed := w.failed.Load(); failed != nil {
		err = *failed
	}
	return rate, err
}
