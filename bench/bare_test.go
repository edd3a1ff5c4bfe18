package bench

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"animalstore/client"
)

// replay returns the bare handler for a load of reads. It sends the bytes and headers that the service sent, checks no
// key and reads nothing.
func replay(r request) func(*testing.T, *subject) http.Handler {
	return func(t *testing.T, service *subject) http.Handler {
		recorded := r.record(t, service)
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { recorded.write(w, recorded.body) })
	}
}

// respondWith returns the bare handler for a load of writes. It decodes the body, calls make and encodes the result with
// the JSON package of the service. It checks no key and stores nothing.
func respondWith[In, Out any](r request, make func(In, int64) Out) func(*testing.T, *subject) http.Handler {
	return func(t *testing.T, service *subject) http.Handler {
		recorded := r.record(t, service)
		recorded.header.Del("Content-Length")
		var last atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in In
			text, err := io.ReadAll(r.Body)
			if err == nil {
				err = jsonv2.Unmarshal(text, &in)
			}
			var body []byte
			if err == nil {
				body, err = jsonv2.Marshal(make(in, last.Add(1)))
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			recorded.write(w, body)
		})
	}
}

func newPet(in client.NewPet, id int64) client.Pet {
	return client.Pet{ID: id, Name: in.Name, CategoryID: in.CategoryID, Status: in.Status}
}

func newOrder(in client.NewOrder, id int64) client.Order {
	now := time.Now().UTC().Truncate(time.Microsecond)
	return client.Order{ID: id, PetID: in.PetID, Status: client.OrderPlaced, CreatedAt: now, UpdatedAt: now}
}

// write sends a response. All responses share the header values, because the baseline must be as fast as possible.
func (r response) write(w http.ResponseWriter, body []byte) {
	header := w.Header()
	for name, values := range r.header {
		header[name] = values
	}
	w.WriteHeader(r.status)
	w.Write(body)
}
