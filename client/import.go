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

// The most that one import can bring. Whoever has more sends it in parts.
const (
	MaxImport     = 10_000  // animals
	MaxImportSize = 8 << 20 // bytes
)

// importTimeout is how long an import may take where the Client has the default timeout: it is the work of thousands of
// requests.
const importTimeout = 2 * time.Minute

// Format is how the animals stand in a file.
type Format string

const (
	// CSV has a line that names the columns: name, categoryId and, if you like, status; an id is ignored.
	CSV Format = "csv"
	// NDJSON has an animal in JSON on each line.
	NDJSON Format = "ndjson"
)

func (f Format) mediaType() (string, error) {
	switch f {
	case CSV:
		return "text/csv", nil
	case NDJSON:
		return "application/x-ndjson", nil
	}
	return "", errors.New("animalstore: a format is CSV or NDJSON")
}

// rawBody is a body that is sent as it is.
type rawBody struct {
	mediaType string
	content   []byte
}

// Imported is what became of an import.
type Imported struct {
	Created  int  `json:"created"` // how many animals were added
	Replayed bool `json:"-"`       // it had happened before, under the same [IdempotencyKey]; nothing was added now
}

// ImportPets adds up to [MaxImport] animals in one step, all of them or none. It fails with [CodeValidationFailed], and
// then the message names the first wrong ones by their lines, the first animal being line 1.
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

// ImportFile adds the animals of a file, at most [MaxImport] in [MaxImportSize] bytes, all of them or none. It fails with
// [CodeValidationFailed], and then the message names the first wrong rows by their lines, and with [CodePayloadTooLarge].
func (c *Client) ImportFile(ctx context.Context, format Format, content []byte, options ...PostOption) (imported Imported, err error) {
	mediaType, err := format.mediaType()
	if err != nil {
		return Imported{}, err
	}
	got, err := c.withImportTimeout().post(ctx, "/imports", rawBody{mediaType, content}, options, &imported)
	imported.Replayed = got.header.Get("Idempotency-Replayed") == "true"
	return imported, err
}

// CheckFile says whether ImportFile would take a file, and adds nothing. It fails as ImportFile does.
func (c *Client) CheckFile(ctx context.Context, format Format, content []byte) error {
	mediaType, err := format.mediaType()
	if err != nil {
		return err
	}
	var none Imported
	// Without an idempotency key: nothing happens, so it may happen twice.
	_, err = c.withImportTimeout().do(ctx, request{
		method: http.MethodPost, path: "/imports", query: url.Values{"dryRun": {"true"}}, body: rawBody{mediaType, content},
	}, &none)
	return err
}

// withImportTimeout is the client with more time for each attempt.
func (c *Client) withImportTimeout() *Client {
	if c.http.Timeout != defaultTimeout {
		return c // whoever set it has thought about it
	}
	copied, httpClient := *c, *c.http
	httpClient.Timeout = importTimeout
	copied.http = &httpClient
	return &copied
}
