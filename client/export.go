package client

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// ExportOption configures an export.
type ExportOption func(*request)

// IncludeProfiles adds the profiles to an export. Internal members, and the profileEtag that an import with [Upsert] needs,
// are only written if the key has the scope pets:write.
func IncludeProfiles() ExportOption {
	return func(r *request) { r.query = url.Values{"include": {"profile"}} }
}

// ExportFile writes all animals to a writer, oldest first, and returns the number of bytes written. After an
// error, the output is incomplete. The call is not retried once the export has started to arrive.
//
// The output can be edited and imported again, with [Upsert] to change the animals. In CSV, a name that a
// spreadsheet would run as a formula is prefixed with an apostrophe, which an import removes.
func (c *Client) ExportFile(ctx context.Context, format Format, to io.Writer, options ...ExportOption) (int64, error) {
	mediaType, err := format.mediaType()
	if err != nil {
		return 0, err
	}
	r := request{method: http.MethodGet, path: "/exports/pets." + string(format)}
	for _, option := range options {
		option(&r)
	}
	prepared, err := c.prepare(ctx, r)
	if err != nil {
		return 0, err
	}
	prepared.Header.Set("Accept", mediaType+", application/json;q=0.5")
	for try := 0; ; try++ {
		written, started, err := c.export(prepared, mediaType, to)
		if err == nil || started || try == c.retries || ctx.Err() != nil || !isRetryable(err) {
			return written, err
		}
		wait := backoff(try+1, err)
		if wait > maxRetryAfter {
			return 0, err
		}
		if ended := sleep(ctx, wait); ended != nil {
			return 0, fmt.Errorf("animalstore: %w while waiting to retry: %w", ended, err)
		}
	}
}

// export makes one attempt, which may take any amount of time as long as data keeps arriving. The return
// value started reports whether the export has started to arrive.
func (c *Client) export(prepared *http.Request, mediaType string, to io.Writer) (written int64, started bool, err error) {
	idle := c.newIdleTimeout(prepared.Context())
	defer idle.close()
	response, err := idle.send(c.http, prepared)
	if err != nil {
		return 0, false, err
	}
	defer response.Body.Close()
	got := apiResponse{status: response.StatusCode, header: response.Header}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); got.status == http.StatusOK && kind == mediaType {
		written, err = io.Copy(to, idle)
		if err != nil {
			err = fmt.Errorf("animalstore: GET %s: the export is incomplete: %w", prepared.URL, err)
		}
		return written, true, err
	}
	if got.body, err = io.ReadAll(io.LimitReader(idle, maxResponse)); err != nil {
		return 0, false, fmt.Errorf("animalstore: GET %s: the response was cut off: %w", prepared.URL, err)
	}
	if got.status >= 200 && got.status <= 299 {
		return 0, false, got.unexpectedError("it is not an export")
	}
	return 0, false, got.asError()
}
