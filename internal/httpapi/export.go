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
	// exportsAtOnce is how many exports a node writes at a time: they read all that there is.
	exportsAtOnce = 32
	// exportPatience is how long a client may take with each piece of an export.
	exportPatience = 30 * time.Second
	// exportGrace is how long an export may still take when this node stops.
	exportGrace = 20 * time.Second
)

func (a *API) exportCSV(c *call) error {
	return a.export(c, "pets.csv", "text/csv; charset=utf-8; header=present", petcsv.AppendHeader(nil), petcsv.Append)
}

func (a *API) exportNDJSON(c *call) error {
	return a.export(c, "pets.ndjson", "application/x-ndjson", nil, func(to []byte, pet shop.Pet) []byte {
		return append(append(to, encode(pet)...), '\n')
	})
}

var (
	errKeyEnded = errors.New("the key was taken back during an export")
	errStopped  = errors.New("this node stopped before the end of an export")
)

// export writes all animals, a piece at a time. What goes wrong after the beginning cuts the answer off, so that no client
// takes it for whole.
func (a *API) export(c *call, name, contentType string, head []byte, write func([]byte, shop.Pet) []byte) error {
	if !a.exports.take() {
		return shop.Errorf(shop.Unavailable, "There are too many exports at once; try again shortly.")
	}
	defer a.exports.leave()
	begin := func() {
		h := c.w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		h.Set("Cache-Control", "no-store")
		c.begin(http.StatusOK)
		c.leave()
	}
	if c.r.Method == http.MethodHead {
		begin()
		return nil
	}
	c.streamed = true
	ctx, cancel := context.WithCancelCause(c.r.Context())
	defer cancel(nil)
	defer context.AfterFunc(a.running, func() {
		time.AfterFunc(exportGrace, func() { cancel(errStopped) })
	})()
	control := http.NewResponseController(c.w)
	checked := time.Now()
	piece := head
	send := func() error {
		if !c.w.Started() {
			begin() // not before there is something: a store that cannot be read is still told as an error
		}
		control.SetWriteDeadline(time.Now().Add(exportPatience)) // what has none needs none
		_, err := c.w.Write(piece)
		piece = piece[:0]
		return err
	}
	err := a.Service.ExportPets(ctx, func(pets []shop.Pet) error {
		if time.Since(checked) >= streamCheck {
			checked = time.Now()
			if !a.stillOpens(c) {
				return errKeyEnded
			}
		}
		for _, pet := range pets {
			piece = write(piece, pet)
		}
		return send()
	})
	if err == nil && (len(piece) > 0 || !c.w.Started()) {
		err = send() // there are no animals
	}
	if err != nil && c.w.Started() {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		c.breakOff()
	}
	return err
}

// breakOff resets the connection of a client whose version of HTTP knows no other sign of an answer that is not whole.
func (c *call) breakOff() {
	if c.r.ProtoAtLeast(1, 1) {
		return // it misses the last chunk, or the end of the stream
	}
	conn, _, err := http.NewResponseController(c.w).Hijack()
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
