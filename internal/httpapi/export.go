package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

const (
	// exportWriteTimeout is how long a client may take to accept each chunk of an export.
	exportWriteTimeout = 30 * time.Second
	// exportChunk is the size in bytes from which a chunk is sent before it has all animals of a page.
	exportChunk = 256 << 10
	// exportGrace is how long an export may continue after the node starts to shut down.
	exportGrace = 20 * time.Second
)

func (a *API) exportCSV(x *exchange) error {
	options, err := x.exportOptions()
	if err != nil {
		return err
	}
	head, appendRow := petcsv.AppendHeader(nil), petcsv.Append
	if options.Profiles {
		w := petcsv.ProfileWriter{Internal: options.Internal, BaseURL: shop.PhotoBase(a.PublicURL)}
		head, appendRow = w.AppendHeader(nil), w.Append
	}
	return a.export(x, options, "pets.csv", "text/csv; charset=utf-8; header=present", head, appendRow)
}

func (a *API) exportNDJSON(x *exchange) error {
	options, err := x.exportOptions()
	if err != nil {
		return err
	}
	return a.export(x, options, "pets.ndjson", "application/x-ndjson", nil, func(to []byte, row shop.ExportRow) []byte {
		if row.Profile != nil && len(row.Profile.Photos) > 0 {
			return append(append(to, a.photoURLs(row.AppendJSON(nil))...), '\n')
		}
		return append(row.AppendJSON(to), '\n')
	})
}

// exportOptions parses the query string of an export.
func (x *exchange) exportOptions() (shop.ExportOptions, error) {
	q := parseQuery(x.r.URL.RawQuery)
	include := q.checkedText("include", func(include string) string {
		if include == "profile" {
			return ""
		}
		return "must be profile"
	})
	return shop.ExportOptions{Profiles: include != "", Internal: x.maySeeInternal()}, q.err
}

var (
	errKeyRevoked = errors.New("the API key was revoked during the export")
	errShutdown   = errors.New("the node shut down before the end of the export")
)

// export sends all animals in chunks. If it fails after the response has started, API.end aborts the
// response, so that the client does not mistake the partial response for a complete one.
func (a *API) export(x *exchange, options shop.ExportOptions, name, contentType string, head []byte, appendRow func([]byte, shop.ExportRow) []byte) error {
	slot, err := x.acquire(admission.Exports)
	if err != nil {
		return err
	}
	defer slot.Release()
	begin := func() {
		h := x.w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		h.Set("Cache-Control", "no-store")
		x.w.WriteHeader(http.StatusOK)
		x.inFlight.Release()
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
	control := http.NewResponseController(&x.w)
	checked := time.Now()
	chunk := head
	send := func() error {
		if !x.w.Started() {
			// Start the response only now. If the first read fails, the client still gets an error response.
			begin()
		}
		control.SetWriteDeadline(time.Now().Add(exportWriteTimeout))
		_, err := x.w.Write(chunk)
		chunk = chunk[:0]
		return err
	}
	err = a.Service.ExportPets(ctx, x.caller(), options, func(rows []shop.ExportRow) error {
		if time.Since(checked) >= keyCheckInterval {
			checked = time.Now()
			if !a.isKeyValid(x) {
				return errKeyRevoked
			}
		}
		for _, row := range rows {
			chunk = appendRow(chunk, row)
			if len(chunk) >= exportChunk {
				if err := send(); err != nil {
					return err
				}
			}
		}
		return send()
	})
	if err == nil && (len(chunk) > 0 || !x.w.Started()) {
		err = send() // the catalogue is empty, so nothing has been sent yet
	}
	if err != nil && x.w.Started() {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		x.resetConnection()
	}
	return err
}

// resetConnection resets an HTTP/1.0 connection. In HTTP/1.0, this is the only way to mark a response as
// incomplete.
func (x *exchange) resetConnection() {
	if x.r.ProtoAtLeast(1, 1) {
		return // a missing last chunk (HTTP/1.1) or a stream reset (HTTP/2) marks the response as incomplete
	}
	conn, _, err := http.NewResponseController(&x.w).Hijack()
	if err != nil {
		return
	}
	if tlsConn, ok := conn.(*tls.Conn); ok {
		conn = tlsConn.NetConn()
	}
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		tcp.SetLinger(0) // makes Close send a reset
	}
	conn.Close()
}
