package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"animalstore/internal/programtest"
)

// writeLoad lets many clients add animals concurrently until the service stops. Each client uses a raw
// connection to distinguish a truncated response from a missing one.
type writeLoad struct {
	program *programtest.Program
	name    string // the prefix for the animals' names
	clients int
	// The end function is called once, when this number of animals has been acknowledged. It must stop or
	// kill the service.
	after int64
	end   func()

	count, ended atomic.Int64

	mu           sync.Mutex
	sent         map[string]programtest.Pet // the animals that were sent, by name
	acknowledged []programtest.Pet
	cut          int // the number of truncated responses
	problems     []error
}

// run runs the clients and returns when no client gets responses any longer.
func (s *writeLoad) run() {
	s.sent = map[string]programtest.Pet{}
	var clients sync.WaitGroup
	for i := range s.clients {
		clients.Go(func() {
			if err := s.client(i); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.problems = append(s.problems, fmt.Errorf("client %d: %w", i, err))
			}
		})
	}
	clients.Wait()
}

// errNoResponse means that the connection was refused or was closed before a response arrived.
var errNoResponse = errors.New("no response")

// errTruncated means that the connection was closed in the middle of a response.
var errTruncated = errors.New("the response is truncated")

// client adds animals until it gets no response. It returns an error if this happens before end is called or
// if a response is wrong.
func (s *writeLoad) client(i int) error {
	var w *wire
	defer func() { w.close() }()
	for n := 0; ; n++ {
		want := animal(fmt.Sprintf("%s, client %d, animal %d", s.name, i, n), n)
		s.mu.Lock()
		s.sent[want.Name] = want
		s.mu.Unlock()
		got, err := s.add(&w, want)
		switch {
		case errors.Is(err, errTruncated):
			s.mu.Lock()
			s.cut++
			s.mu.Unlock()
			fallthrough
		case errors.Is(err, errNoResponse):
			if s.ended.Load() == 0 {
				return fmt.Errorf("while the service should run: %w", err)
			}
			return nil
		case err != nil:
			return err
		}
		s.mu.Lock()
		s.acknowledged = append(s.acknowledged, got)
		s.mu.Unlock()
		if s.count.Add(1) == s.after {
			s.ended.Store(1)
			s.end()
		}
	}
}

// animal returns an animal whose category and status depend on n.
func animal(name string, n int) programtest.Pet {
	return programtest.Pet{
		Name:       name + " 🐢",
		CategoryID: []int64{0, 7, -7, math.MaxInt64, math.MinInt64, 1<<53 + 1}[n%6],
		Status:     []string{"", "available", "pending", "sold"}[n%4],
	}
}

// add sends one animal and returns the animal in the response. It opens a connection first if w points to
// nil.
func (s *writeLoad) add(w **wire, want programtest.Pet) (got programtest.Pet, err error) {
	if *w == nil {
		if *w, err = dial(s.program); err != nil {
			return programtest.Pet{}, errors.Join(errNoResponse, err)
		}
	}
	body := want.JSON()
	(*w).send(postHead(len(body)) + body) // receive reports a broken connection
	a, last, err := (*w).receive()
	if err != nil {
		return programtest.Pet{}, err
	}
	if a.Status != http.StatusCreated {
		return programtest.Pet{}, fmt.Errorf("POST %s: got %v, want 201", body, a)
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
		return programtest.Pet{}, fmt.Errorf("POST %s: got %v, want an animal", body, a)
	}
	if want.ID = got.ID; got != want {
		return programtest.Pet{}, fmt.Errorf("got the response %+v, want %+v", got, want)
	}
	if last {
		(*w).close()
		*w = nil
	}
	return got, nil
}

type wire struct {
	conn   net.Conn
	reader *bufio.Reader
}

func dial(p *programtest.Program) (*wire, error) {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.URL, "http://"), programtest.WaitTimeout)
	if err != nil {
		return nil, err
	}
	return &wire{conn, bufio.NewReader(conn)}, nil
}

func (w *wire) close() {
	if w != nil {
		w.conn.Close()
	}
}

func (w *wire) send(text string) error {
	w.conn.SetDeadline(time.Now().Add(programtest.WaitTimeout)) // the deadline also applies to the response
	_, err := io.WriteString(w.conn, text)
	return err
}

// receive reads one response and reports whether it is the last one on this connection. It returns
// errNoResponse if not a single byte arrived and errTruncated if the response is incomplete.
func (w *wire) receive() (a programtest.Response, last bool, err error) {
	if _, err := w.reader.Peek(1); err != nil {
		return programtest.Response{}, true, errors.Join(errNoResponse, err)
	}
	httpResponse, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		return programtest.Response{}, true, errors.Join(errTruncated, err)
	}
	defer httpResponse.Body.Close()
	body, err := io.ReadAll(httpResponse.Body)
	if err != nil {
		return programtest.Response{}, true, errors.Join(errTruncated, err)
	}
	return programtest.Response{Status: httpResponse.StatusCode, Header: httpResponse.Header, Body: string(body)}, httpResponse.Close, nil
}

// postHead returns the request line and the headers for a request that adds an animal.
func postHead(length int, fields ...string) string {
	lines := append([]string{
		"POST /v1/pets HTTP/1.1",
		"Host: localhost",
		"Authorization: Bearer " + programtest.AdminKey,
		"Content-Type: application/json",
		fmt.Sprintf("Content-Length: %d", length),
	}, fields...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}
