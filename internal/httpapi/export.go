package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

const (
	// maxExports is how many exports a node writes at a time: they read all that there is.
	maxExports = 32
	// exportWriteTimeout is how long a client may take with each piece of an export.
	exportWriteTimeout = 30 * time.Second
	// exportGrace is how long an export may still take when this node stops.
	exportGrace = 20 * time.Second
)

func (a *API) exportCSV(x *exchange) error {
	return a.export(x, "pets.csv", "text/csv; charset=utf-8; header=present", petcsv.AppendHeader(nil), petcsv.Append)
}

func (a *API) exportNDJSON(x *exchange) error {
	return a.export(x, "pets.ndjson", "application/x-ndjson", nil, func(to []byte, pet shop.Pet) []byte {
		return append(append(to, encode(pet)...), '\n')
	})
}

var (
	errKeyRevoked = errors.New("the key was taken back during an export")
	errShutdown   = errors.New("this node stopped before the end of an export")
)

// export writes all animals, a piece at a time. What goes wrong after the beginning cuts the answer off, so that no client
// takes it for whole.
func (a *API) export(x *exchange, name, contentType string, head []byte, write func([]byte, shop.Pet) []byte) error {
	if !a.exports.tryAcquire() {
		return shop.Errorf(shop.Unavailable, "There are too many exports at once; try again shortly.")
	}
	defer a.exports.release()
	begin := func() {
		h := x.w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		h.Set("Cache-Control", "no-store")
		x.writeHeader(http.StatusOK)
		x.release()
	}
	if x.r.Method == http.MethodHead {
		begin()
		return nil
	}
	x.streamed = true
	ctx, cancel := context.WithCancelCause(x.r.Context())
	defer cancel(nil)
	defer context.AfterFunc(a.lifetime, func() {
		time.AfterFunc(exportGrace, func() { cancel(errShutdown) })
	})()
	control := http.NewResponseController(x.w)
	checked := time.Now()
	piece := head
	send := func() error {
		if !x.w.Started() {
			begin() // not before there is something: a store that cannot be read is still told as an error
		}
		control.SetWriteDeadline(time.Now().Add(exportWriteTimeout)) // what has none needs none
		_, err := x.w.Write(piece)
		piece = piece[:0]
		return err
	}
	err := a.Service.ExportPets(ctx, func(pets []shop.Pet) error {
		if time.Since(checked) >= keyCheckInterval {
			checked = time.Now()
			if !a.isKeyValid(x) {
				return errKeyRevoked
			}
		}
		for _, pet := range pets {
			piece = write(piece, pet)
		}
		return send()
	})
	if err == nil && (len(piece) > 0 || !x.w.Started()) {
		err = send() // there are no animals
	}
	if err != nil && x.w.Started() {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		x.resetConnection()
	}
	return err
}

// resetConnection resets the connection of a client whose version of HTTP knows no other sign of an answer that is not whole.
func (x *exchange) resetConnection() {
	if x.r.ProtoAtLeast(1, 1) {
		return // it misses the last chunk, or the end of the stream
	}
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return
	}
	under := conn
	if secure, ok := conn.(*tls.Conn); ok {
		under = secure.NetConn()
	}
	if plain, ok := under.(interface{ SetLinger(int) error }); ok {
		plain.SetLinger(0)
	}
	under.Close()
}
