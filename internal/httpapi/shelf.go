package httpapi

import (
	"context"
	"errors"
	"sync"

	"animalstore/internal/shop"
)

// shelf keeps what was answered to reads of the catalogue, encoded, for as long as it holds: nearly all reads of a shop ask
// for the same few pages again. It keeps nothing where others than this process may change the catalogue.
type shelf struct {
	service *shop.Service
	mu      sync.RWMutex
	kept    map[string]*kept // by the request
	size    int              // of all that is kept, in bytes
	making  map[making]*kept
}

// ready is an answer without what differs from client to client.
type ready struct {
	tag   string
	body  []byte
	first string // the query of the first page of the same list
	next  string // that of the next page, or ""
}

type kept struct {
	ready
	term shop.Validity
	err  error
	done chan struct{} // closed when it is made
}

// making is something that is being made of the catalogue as it is after so many changes.
type making struct {
	request string
	changes int64
}

// maxShelf is how much a shelf keeps, in bytes; for more, all that is kept makes room.
const maxShelf = 4 << 20

func newShelf(service *shop.Service) *shelf {
	return &shelf{service: service, kept: map[string]*kept{}, making: map[making]*kept{}}
}

// get returns the answer to a request from the shelf, or has it made. Those who ask for the same at once wait for one of them,
// but only where nothing has changed since that one began: whoever knows of a change must see it.
func (s *shelf) get(ctx context.Context, request string, makeIt func() (ready, error)) (ready, error) {
	now, ok := s.service.CatalogVersion()
	if !ok {
		return makeIt()
	}
	s.mu.RLock()
	known := s.kept[request]
	s.mu.RUnlock()
	if known != nil && known.term.Valid(now) {
		return known.ready, nil
	}
	key := making{request, now.Changes}
	s.mu.Lock()
	other, begun := s.making[key]
	if !begun {
		other = &kept{err: errNotMade, done: make(chan struct{})}
		s.making[key] = other
	}
	s.mu.Unlock()
	if !begun {
		return s.fill(ctx, key, now, other, makeIt)
	}
	select {
	case <-other.done:
	case <-ctx.Done():
		return ready{}, shop.UnavailableError(ctx.Err())
	}
	if other.err != nil { // perhaps only for who asked
		return makeIt()
	}
	return other.ready, nil
}

var errNotMade = errors.New("it was not made")

// fill has an answer made and keeps it.
func (s *shelf) fill(ctx context.Context, key making, now shop.CatalogVersion, place *kept, makeIt func() (ready, error)) (ready, error) {
	defer func() { // also where making it panics
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.making, key)
		if place.err == nil {
			s.keep(key.request, place)
		}
		close(place.done)
	}()
	if place.term, place.err = s.service.ValidityFrom(ctx, now); place.err != nil {
		return ready{}, place.err
	}
	place.err = errNotMade
	place.ready, place.err = makeIt()
	return place.ready, place.err
}

func (s *shelf) keep(request string, made *kept) {
	if before := s.kept[request]; before != nil {
		s.size -= len(request) + len(before.body)
	}
	if s.size += len(request) + len(made.body); s.size > maxShelf {
		clear(s.kept)
		s.size = len(request) + len(made.body)
	}
	s.kept[request] = made
}
