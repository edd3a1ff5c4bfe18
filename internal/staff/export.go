package staff

import (
	"context"
	"net/http"
	"slices"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// csvType is the content type of CSV files.
const csvType = "text/csv; charset=utf-8; header=present"

// exportChunk is the size in bytes from which a chunk of an export is sent before it has all animals of a page.
const exportChunk = 256 << 10

// exportPets streams all animals as a CSV file, with their profiles if the address says so.
func (p *Pages) exportPets(x *exchange) error {
	options := shop.ExportOptions{Profiles: x.r.URL.Query().Get("include") == "profile", Internal: x.May(shop.PetsWrite)}
	head, appendRow := petcsv.AppendHeader(nil), petcsv.Append
	if options.Profiles {
		w := petcsv.ProfileWriter{Internal: options.Internal, BaseURL: shop.PhotoBase(p.PublicURL)}
		head, appendRow = w.AppendHeader(nil), w.Append
	}
	return x.streamCSV("animals.csv", head, func(ctx context.Context, send func([]byte) error) error {
		return p.Service.ExportPets(ctx, x.caller(), options, func(rows []shop.ExportRow) error {
			var chunk []byte
			for _, row := range rows {
				if chunk = appendRow(chunk, row); len(chunk) >= exportChunk {
					if err := send(chunk); err != nil {
						return err
					}
					chunk = chunk[:0]
				}
			}
			return send(chunk)
		})
	})
}

// streamCSV sends a CSV file, which write produces in chunks. If an error occurs after the first byte was sent, the
// connection is aborted, so that the browser does not mistake the partial file for a complete one.
func (x *exchange) streamCSV(name string, header []byte, write func(ctx context.Context, send func([]byte) error) error) error {
	slot, err := x.Limits.Acquire(x.r.Context(), admission.Exports, x.principal)
	if err != nil {
		return err
	}
	defer slot.Release()
	x.releaseLimits()
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.running, cancel)()
	control := http.NewResponseController(x.w)
	checked := time.Now()
	send := func(chunk []byte) error {
		if time.Since(checked) >= sessionCheckInterval {
			checked = time.Now()
			if err := x.identify(); err != nil {
				return err
			}
		}
		if !x.w.Started() {
			x.w.Header().Set("Content-Type", csvType)
			x.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
			x.w.WriteHeader(http.StatusOK)
			chunk = slices.Concat([]byte(petcsv.ByteOrderMark), header, chunk)
		}
		control.SetWriteDeadline(time.Now().Add(web.ResponseTimeout)) // setting the deadline fails only in tests, which need none
		_, err := x.w.Write(chunk)
		return err
	}
	if err := write(ctx, send); err != nil {
		return err
	}
	return send(nil) // sends the header if there were no rows
}
