package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Limits for one import. Larger files must be split.
const (
	MaxImport     = 10_000  // the maximum number of animals
	MaxImportSize = 8 << 20 // the maximum number of bytes
)

// importTimeout replaces the default timeout during an import, because an import does the work of thousands
// of requests.
const importTimeout = 2 * time.Minute

// Format is a file format for importing and exporting animals.
type Format string

const (
	// CSV files start with a header row. A file must have the column "name" and either "categoryId" or "category",
	// which contains the name of the category. The columns "status", "id" and "etag" are optional, and so are those of
	// profiles, which [IncludeProfiles] exports.
	CSV Format = "csv"
	// NDJSON files contain one JSON object per line. Its members have the names of the CSV columns, and those of [Profile].
	NDJSON Format = "ndjson"
)

func (f Format) mediaType() (string, error) {
	switch f {
	case CSV:
		return "text/csv", nil
	case NDJSON:
		return "application/x-ndjson", nil
	}
	return "", errors.New("animalstore: the format must be CSV or NDJSON")
}

// rawBody is a request body that is sent unchanged instead of being encoded as JSON.
type rawBody struct {
	mediaType string
	content   []byte
}

// Upsert makes an import update the animals whose ids are in the file. Without it, the ids are ignored, and every row
// creates an animal. With Upsert, a row with an id updates the animal with this id, and a row without an id creates an
// animal. A row with an id must also have the animal's ETag in etag, as in an exported file. If the animal has changed
// since it was exported, the row is invalid. The same holds for the members of the profile and profileEtag. A row with an id
// and a profileEtag that has neither a name nor a category nor a status changes only the profile, and needs no etag.
func Upsert() PostOption {
	return func(r *request) {
		if r.query == nil {
			r.query = url.Values{}
		}
		r.query.Set("mode", "upsert")
		if r.path != importPath {
			r.err = errors.New("animalstore: Upsert is an option for imports only")
		}
	}
}

const importPath = "/imports"

// Imported is the result of an import.
type Imported struct {
	Created  int  `json:"created"` // the number of animals created
	Updated  int  `json:"updated"` // the number of animals changed; rows that change nothing do not count
	Replayed bool `json:"-"`       // whether an earlier request with the same [IdempotencyKey] made these changes
}

// ImportPreview describes what an import would do.
type ImportPreview struct {
	Created    int `json:"created"`    // the number of animals that the import would create
	Updated    int `json:"updated"`    // the number of existing animals that the import would change
	IgnoredIDs int `json:"ignoredIds"` // the number of rows whose id would be ignored, because [Upsert] is not set
}

// ImportPets creates up to [MaxImport] animals. It creates either all of them or none. If an animal is
// invalid, ImportPets fails with [CodeValidationFailed], and the message names the first invalid animals by
// line number. The first animal is line 1.
func (c *Client) ImportPets(ctx context.Context, pets []NewPet, options ...PostOption) (Imported, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, pet := range pets {
		if err := encoder.Encode(pet); err != nil {
			return Imported{}, err
		}
	}
	return c.ImportFile(ctx, NDJSON, lines.Bytes(), options...)
}

// ImportFile creates the animals in a file. With [Upsert], it also updates existing animals. It imports either all
// rows or none. The file may contain at most [MaxImport] animals and [MaxImportSize] bytes. If it is larger,
// ImportFile fails with [CodePayloadTooLarge]. If a row is invalid, ImportFile fails with [CodeValidationFailed], and
// the message names the first invalid rows by line number. While 20,000 names wait for the search index of the service,
// ImportFile is refused with [CodeUnavailable]. It then waits and tries again like every call. A program that imports many
// files should wait for [Error.RetryAfter] and call ImportFile again.
func (c *Client) ImportFile(ctx context.Context, format Format, content []byte, options ...PostOption) (imported Imported, err error) {
	mediaType, err := format.mediaType()
	if err != nil {
		return Imported{}, err
	}
	got, err := c.withTimeout(importTimeout).post(ctx, importPath, rawBody{mediaType, content}, options, &imported)
	imported.Replayed = got.header.Get("Idempotency-Replayed") == "true"
	return imported, err
}

// CheckFile checks a file for [Client.ImportFile] without changing anything. It returns what ImportFile would do, or
// the error with which ImportFile would fail.
func (c *Client) CheckFile(ctx context.Context, format Format, content []byte, options ...PostOption) (preview ImportPreview, err error) {
	mediaType, err := format.mediaType()
	if err != nil {
		return ImportPreview{}, err
	}
	// A dry run changes nothing, so it needs no idempotency key.
	r := request{method: http.MethodPost, path: importPath, query: url.Values{"dryRun": {"true"}}, body: rawBody{mediaType, content}}
	for _, option := range options {
		option(&r)
	}
	_, err = c.withTimeout(importTimeout).do(ctx, r, &preview)
	return preview, err
}

// withTimeout returns a client that uses a timeout other than the default. If the caller has set a timeout, that timeout
// is kept.
func (c *Client) withTimeout(timeout time.Duration) *Client {
	if c.http.Timeout != defaultTimeout {
		return c
	}
	copied, httpClient := *c, *c.http
	httpClient.Timeout = timeout
	copied.http = &httpClient
	return &copied
}
