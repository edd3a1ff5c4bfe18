package staff

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

// exportsAtOnce limits concurrent exports per node: each reads the whole catalogue.
const exportsAtOnce = 8

// exportPets streams all animals as a CSV file. An error after the first byte aborts the connection, so that
// the browser does not take the file for complete.
func (p *Pages) exportPets(v *visit) error {
	select {
	case p.exports <- struct{}{}:
		defer func() { <-p.exports }()
	default:
		return shop.Errorf(shop.Unavailable, "Too many exports are running; try again shortly.")
	}
	v.leave()
	ctx, cancel := context.WithCancel(v.r.Context())
	defer cancel()
	defer context.AfterFunc(p.running, cancel)()
	control := http.NewResponseController(v.w)
	chunk := bytes.NewBuffer(petcsv.AppendHeader(nil))
	checked := time.Now()
	send := func() error {
		if !v.w.Started() {
			v.w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
			v.w.Header().Set("Content-Disposition", `attachment; filename="animals.csv"`)
			v.w.WriteHeader(http.StatusOK)
		}
		control.SetWriteDeadline(time.Now().Add(answerTimeout)) // unsupported only in tests, which need none
		_, err := chunk.WriteTo(v.w)
		return err
	}
	err := p.Service.ExportPets(ctx, func(pets []shop.Pet) error {
		if time.Since(checked) >= sessionCheckInterval {
			checked = time.Now()
			if err := v.identify(); err != nil {
				return err
			}
		}
		for _, pet := range pets {
			chunk.Write(petcsv.Append(nil, pet))
		}
		return send()
	})
	if err == nil {
		err = send()
	}
	return err
}
