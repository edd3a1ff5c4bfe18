package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

const (
	importOperation = "importPets"
	maxImportBytes  = 8 << 20
	importTimeout   = 2 * time.Minute // how long a client may take to send the file
)

// importPets adds all animals in a file, or no animal at all if any row is invalid.
func (a *API) importPets(x *exchange) error {
	q := parseQuery(x.r.URL.RawQuery)
	dryRun := q.boolean("dryRun")
	if q.err != nil {
		return q.err
	}
	rows, err := decodeImport(x.r.Header.Get("Content-Type"), x.body)
	if err != nil {
		return err
	}
	return runIdempotent(x, func(ctx context.Context) (shop.ImportResult, error) { return a.Service.ImportPets(ctx, rows, dryRun) },
		respondWith[shop.ImportResult](200))
}

// decodeImport decodes the rows in a CSV or NDJSON file. The problems found in a row are stored in that
// row. It stops after shop.MaxImport + 1 rows.
func decodeImport(contentType string, body []byte) ([]shop.ImportRow, error) {
	if mediaType, _, _ := mime.ParseMediaType(contentType); mediaType == "text/csv" {
		return petcsv.Read(body)
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	rows := make([]shop.ImportRow, 0, min(shop.MaxImport, bytes.Count(body, []byte("\n"))+1))
	line := 0
	for text := range bytes.SplitSeq(body, []byte("\n")) {
		if len(rows) > shop.MaxImport {
			break
		}
		line++
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		row := shop.ImportRow{Line: line}
		var err error
		if len(text) > shop.MaxImportRow {
			row.Problems.Add("", fmt.Sprintf("has more than %d bytes", shop.MaxImportRow))
		} else if row.NewPet, row.Problems, err = decodeNewPet(text); err != nil {
			row.Problems.Add("", "is not a JSON object, or has a duplicate member")
		}
		rows = append(rows, row)
	}
	return rows, nil
}
