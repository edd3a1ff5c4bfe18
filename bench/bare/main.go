// Command bare is a baseline for the benchmark: a net/http handler that does nothing but respond. It either
// replays a response that was recorded from the service, or decodes the request body and responds in the same
// format as the service.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// response is a response that was recorded from the service.
type response struct {
	Status int
	Header http.Header
	Body   []byte
}

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "listen address")
	file := flag.String("response", "", "file with a response of the service")
	decode := flag.String("decode", "", "pet or order: decode the request body and respond with one")
	flag.Parse()
	text, err := os.ReadFile(*file)
	if err != nil {
		log.Fatal(err)
	}
	var a response
	if err := json.Unmarshal(text, &a); err != nil {
		log.Fatal(err)
	}
	if *decode != "" || len(a.Body) < 2048 {
		a.Header.Del("Content-Length") // for short bodies, net/http sets this header itself, at lower cost
	}
	handler, known := map[string]http.HandlerFunc{"": a.send, "pet": a.createPet, "order": a.placeOrder}[*decode]
	if !known {
		log.Fatalf("unknown decoder %q", *decode)
	}
	log.Fatal(http.ListenAndServe(*addr, handler))
}

func (a response) send(w http.ResponseWriter, _ *http.Request) { a.write(w, a.Body) }

// write sends a response with the given body. All responses share the same header values, because the
// baseline must be as fast as possible.
func (a response) write(w http.ResponseWriter, body []byte) {
	header := w.Header()
	for name, values := range a.Header {
		header[name] = values
	}
	w.WriteHeader(a.Status)
	w.Write(body)
}

type newPet struct {
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

type pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

type newOrder struct {
	PetID int64 `json:"petId"`
}

type order struct {
	ID            int64     `json:"id"`
	PetID         int64     `json:"petId"`
	Status        string    `json:"status"`
	CreatedAt     time.Time `json:"createdAt"`
	UpdatedAt     time.Time `json:"updatedAt"`
	HoldExpiresAt time.Time `json:"holdExpiresAt"`
}

var last atomic.Int64

func (a response) createPet(w http.ResponseWriter, r *http.Request) {
	decodeAndRespond(a, w, r, func(n newPet) pet { return pet{last.Add(1), n.Name, n.CategoryID, n.Status} })
}

func (a response) placeOrder(w http.ResponseWriter, r *http.Request) {
	decodeAndRespond(a, w, r, func(n newOrder) order {
		now := time.Now().UTC().Truncate(time.Microsecond)
		return order{last.Add(1), n.PetID, "placed", now, now, now.Add(72 * time.Hour)}
	})
}

// decodeAndRespond decodes the request body, calls make and sends the result. It uses the same JSON package
// as the service.
func decodeAndRespond[In, Out any](a response, w http.ResponseWriter, r *http.Request, make func(In) Out) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var in In
	if err := jsonv2.Unmarshal(text, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := jsonv2.Marshal(make(in))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.write(w, body)
}
