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

// The limits of one import. Split larger files.
const (
	MaxImport     = 10_000  // animals
	MaxImportSize = 8 << 20 // bytes
)

// importTimeout replaces the default timeout for an import, which does the work of thousands of requests.
const importTimeout = 2 * time.Minute

// Format is a file format for animals.
type Format string

const (
	// CSV starts with a header row with the columns name, categoryId and, optionally, status; id is ignored.
	CSV Format = "csv"
	// NDJSON has one JSON object per line.
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

// rawBody is a request body that is sent unchanged.
type rawBody struct {
	mediaType string
	content   []byte
}

// Imported is the result of an import.
type Imported struct {
	Created  int  `json:"created"` // number of animals created
	Replayed bool `json:"-"`       // an earlier call with the same [IdempotencyKey] created them
}

// ImportPets creates up to [MaxImport] animals, all of them or none. It fails with [CodeValidationFailed];
// the message names the first invalid animals by line, where the first animal is line 1.
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

// ImportFile creates the animals in a file, all of them or none: at most [MaxImport] in [MaxImportSize]
// bytes. It fails with [CodeValidationFailed], whose message names the first invalid rows by line, and with
// [CodePayloadTooLarge].
func (c *Client) ImportFile(ctx context.Context, format Format, content []byte, options ...PostOption) (imported Imported, err error) {
	mediaType, err := format.mediaType()
	if err != nil {
		return Imported{}, err
	}
	got, err := c.withImportTimeout().post(ctx, "/imports", rawBody{mediaType, content}, options, &imported)
	imported.Replayed = got.header.Get("Idempotency-Replayed") == "true"
	return imported, err
}

// CheckFile validates a file for ImportFile without creating anything. It fails as ImportFile does.
func (c *Client) CheckFile(ctx context.Context, format Format, content []byte) error {
	mediaType, err := format.mediaType()
	if err != nil {
		return err
	}
	var none Imported
	// A dry run changes nothing, so it needs no idempotency key.
	_, err = c.withImportTimeout().do(ctx, request{
		method: http.MethodPost, path: "/imports", query: url.Values{"dryRun": {"true"}}, body: rawBody{mediaType, content},
	}, &none)
	return err
}

// withImportTimeout returns the client with importTimeout, unless its caller has set a timeout.
func (c *Client) withImportTimeout() *Client {
	if c.http.Timeout != defaultTimeout {
		return c
	}
	copied, httpClient := *c, *c.http
	httpClient.Timeout = importTimeout
	copied.http = &httpClient
	return &copied
}
