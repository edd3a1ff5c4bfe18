package httpapi

import (
	"bytes"
	"fmt"
	"mime"
	"strings"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

const (
	importOperation = "importPets"
	maxImportBytes  = 8 << 20
	importTimeout   = 2 * time.Minute // how long a client may take to send the file
)

// importPets creates and updates all animals in a file, or none at all if any row is invalid.
func (a *API) importPets(x *exchange) error {
	q := parseQuery(x.r.URL.RawQuery)
	options := shop.ImportOptions{Upsert: q.checkedText("mode", importModeProblem) == "upsert", DryRun: q.boolean("dryRun")}
	if q.err != nil {
		return q.err
	}
	rows, err := decodeImport(x.r.Header.Get("Content-Type"), x.body)
	if err != nil {
		return err
	}
	respond := respondWith[shop.ImportResult](200)
	result, err := a.Service.ImportPets(x.r.Context(), callerStoring(x, respond), rows, options)
	if err != nil {
		return err
	}
	x.sendStored(respond(result))
	return nil
}

func importModeProblem(mode string) string {
	if mode == "create" || mode == "upsert" {
		return ""
	}
	return "must be create or upsert"
}

// decodeImport decodes the rows in a CSV or NDJSON file. The problems found in a row are stored in that
// row. It stops after shop.MaxImport + 1 rows.
func decodeImport(contentType string, body []byte) ([]shop.ImportRow, error) {
	if mediaType, _, _ := mime.ParseMediaType(contentType); mediaType == "text/csv" {
		return petcsv.ReadProfiles(body)
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
		row := decodeImportRow(text)
		row.Line = line
		rows = append(rows, row)
	}
	return rows, nil
}

// decodeImportRow decodes one line of NDJSON. In contrast to decodeNewPet, it accepts a status in any letter case,
// the name of a category, and the members of a profile.
func decodeImportRow(text []byte) (row shop.ImportRow) {
	if len(text) > shop.MaxImportRow {
		row.Problems.Add("", fmt.Sprintf("has more than %d bytes", shop.MaxImportRow))
		return row
	}
	o, err := parseObject(text)
	if err != nil {
		row.Problems.Add("", "is not a JSON object, or has a duplicate member")
		return row
	}
	row.ProfileOnly = o.has("id") && o.has("profileEtag") && !o.has("name") && !o.has("categoryId") && !o.has("category") && !o.has("status")
	if !row.ProfileOnly {
		o.petRow(&row)
	}
	if o.has("id") {
		row.ID = new(o.integer("id"))
	}
	if o.has("etag") {
		row.ETag = o.text("etag")
	}
	if o.has("profileEtag") {
		row.ProfileETag = o.text("profileEtag")
	}
	if profile := (shop.ProfileRow{ProfileChange: o.profileChange()}); !profile.IsEmpty() {
		row.Profile = &profile
	}
	row.Problems = o.problems
	return row
}

// petRow sets the fields that describe the animal.
func (o *object) petRow(row *shop.ImportRow) {
	row.Name = o.text("name")
	if o.has("category") {
		row.Category = o.text("category")
	}
	switch row.ByName = o.has("category"); {
	case o.has("categoryId"):
		row.ByName, row.CategoryID = false, o.integer("categoryId")
	case !row.ByName:
		o.problems.Add("categoryId", "or category is required")
	}
	if o.has("status") {
		row.Status = shop.Status(o.checkedText("status", func(status string) string { return shop.StatusProblem(strings.ToLower(status)) }))
	}
}
