package main

import (
	"context"
	"fmt"
	"io"
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
	transport := &http.Transport{MaxIdleConnsPerHost: writers}
	client := &http.Client{Transport: transport, Timeout: patience}
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
	var workers sync.WaitGroup
	for range writers {
		workers.Go(func() {
			for n := range turns {
				if err := createOne(client, base, n); err != nil {
					w.failed.Store(&err)
					cancel()
				} else {
					w.done.Add(1)
				}
			}
		})
	}
	w.work.Go(func() {
		workers.Wait()
		transport.CloseIdleConnections()
	})
	return w
}

func createOne(client *http.Client, base string, n int) error {
	body := fmt.Sprintf(`{"name":"Beside %d","categoryId":%d,"status":"available"}`, n, n%categories+1)
	request, err := http.NewRequest("POST", base+"/v1/pets", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", serviceKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("a create beside the load got %s", response.Status)
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
