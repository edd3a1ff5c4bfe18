package staff

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// csvType is the content type of CSV files.
const csvType = "text/csv; charset=utf-8; header=present"

// exportPets streams all animals as a CSV file. If an error occurs after the first byte was sent, exportPets
// aborts the connection, so that the browser does not mistake the partial file for a complete one.
func (p *Pages) exportPets(x *exchange) error {
	release, err := p.Limits.Exports.Acquire(x.principal)
	if err != nil {
		return err
	}
	defer release()
	x.releaseSlot()
	ctx, cancel := context.WithCancel(x.context())
	defer cancel()
	defer context.AfterFunc(p.running, cancel)()
	control := http.NewResponseController(x.w)
	chunk := bytes.NewBuffer(petcsv.AppendHeader([]byte(petcsv.ByteOrderMark)))
	checked := time.Now()
	send := func() error {
		if !x.w.Started() {
			x.w.Header().Set("Content-Type", csvType)
			x.w.Header().Set("Content-Disposition", `attachment; filename="animals.csv"`)
			x.w.WriteHeader(http.StatusOK)
		}
		control.SetWriteDeadline(time.Now().Add(web.ResponseTimeout)) // setting the deadline fails only in tests, which need none
		_, err := chunk.WriteTo(x.w)
		return err
	}
	err = p.Service.ExportPets(ctx, func(rows []shop.ExportRow) error {
		if time.Since(checked) >= sessionCheckInterval {
			checked = time.Now()
			if err := x.identify(); err != nil {
				return err
			}
		}
		for _, row := range rows {
			chunk.Write(petcsv.Append(nil, row))
		}
		return send()
	})
	if err == nil {
		err = send()
	}
	return err
}
