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
)

// storm is many clients that add animals at once, until the service is gone. Each has its own connection and reads it
// byte by byte as it were, because here it matters whether a missing answer was cut off or never begun.
type storm struct {
	program *program
	name    string // of the storm; every animal's name begins with it
	clients int
	// After that many animals were acknowledged, end is called, once. It must make the service go away.
	after int64
	end   func()

	count, ended atomic.Int64

	mu           sync.Mutex
	sent         map[string]pet // by their names
	acknowledged []pet
	cut          int // answers that began and did not end
	problems     []error
}

// run returns when all clients have found that nobody answers any more.
func (s *storm) run() {
	s.sent = map[string]pet{}
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

// errNoResponse is what a client meets when the service has gone.
var errNoResponse = errors.New("no answer")

// errTruncated is what a client meets when the service went while it answered.
var errTruncated = errors.New("the answer was cut off")

// client adds animals until there is no answer. It returns an error where that is not as it should be.
func (s *storm) client(i int) error {
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
				return fmt.Errorf("before the end: %w", err)
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

// animal makes one of many that differ in everything that an animal has.
func animal(name string, n int) pet {
	return pet{
		Name:       name + " 🐢",
		CategoryID: []int64{0, 7, -7, math.MaxInt64, math.MinInt64, 1<<53 + 1}[n%6],
		Status:     []string{"", "available", "pending", "sold"}[n%4],
	}
}

// add sends one animal and reads what comes back, over a connection that is made where there is none.
func (s *storm) add(w **wire, want pet) (got pet, err error) {
	if *w == nil {
		if *w, err = dial(s.program); err != nil {
			return pet{}, errors.Join(errNoResponse, err)
		}
	}
	body := want.json()
	(*w).send(postHead(len(body)) + body) // whether it arrived, the answer tells
	a, last, err := (*w).receive()
	if err != nil {
		return pet{}, err
	}
	if a.status != http.StatusCreated {
		return pet{}, fmt.Errorf("%s got %v", body, a)
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		return pet{}, fmt.Errorf("%s got %v", body, a)
	}
	if want.ID = got.ID; got != want {
		return pet{}, fmt.Errorf("%+v was answered with %+v", want, got)
	}
	if last {
		(*w).close()
		*w = nil
	}
	return got, nil
}

// wire is a bare connection to the service.
type wire struct {
	conn   net.Conn
	reader *bufio.Reader
}

func dial(p *program) (*wire, error) {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.url, "http://"), patience)
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
	w.conn.SetDeadline(time.Now().Add(patience)) // for the answer, too
	_, err := io.WriteString(w.conn, text)
	return err
}

// receive reads one answer, and whether it is the last on this connection. It returns errNoAnswer where not a byte of
// it came, and errCut where it is not whole.
func (w *wire) receive() (a answer, last bool, err error) {
	if _, err := w.reader.Peek(1); err != nil {
		return answer{}, true, errors.Join(errNoResponse, err)
	}
	response, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		return answer{}, true, errors.Join(errTruncated, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, true, errors.Join(errTruncated, err)
	}
	return answer{response.StatusCode, response.Header, string(body)}, response.Close, nil
}

// postHead is what stands before the body of a new animal.
func postHead(length int, fields ...string) string {
	lines := append([]string{
		"POST /v1/pets HTTP/1.1",
		"Host: localhost",
		"Authorization: Bearer " + adminKey,
		"Content-Type: application/json",
		fmt.Sprintf("Content-Length: %d", length),
	}, fields...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}
