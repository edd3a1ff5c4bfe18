package httpapi

import (
	"bytes"
	"context"
	"mime"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

const (
	importOperation = "importPets"
	// maxImportBytes is how large the body of an import may be.
	maxImportBytes = 8 << 20
	// importTimeout is how long a client may take to send it.
	importTimeout = 2 * time.Minute
	// maxImports is how many imports a node takes at a time: each is kept in memory, whole.
	maxImports = 8
)

// importPets adds many animals at once, all or none.
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

// decodeImport reads the animals of an import; what is wrong with one stands in its row.
func decodeImport(contentType string, body []byte) ([]shop.ImportRow, error) {
	if mediaType, _, _ := mime.ParseMediaType(contentType); mediaType == "text/csv" {
		return petcsv.Read(body)
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	rows := make([]shop.ImportRow, 0, min(shop.MaxImport, bytes.Count(body, []byte("\n"))+1))
	line := 0
	for text := range bytes.SplitSeq(body, []byte("\n")) {
		line++
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		row := shop.ImportRow{Line: line}
		var err error
		if row.NewPet, row.Problems, err = decodeNewPet(text); err != nil {
			row.Problems.Add("", "is no JSON object, or names a member twice")
		}
		rows = append(rows, row)
	}
	return rows, nil
}
