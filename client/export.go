package client

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// ExportFile writes all animals to a file, oldest first, as they come, and returns how many bytes it wrote. Where it
// returns an error the file is not whole; it is not begun again once something was written. What it writes can be
// imported again; in CSV, a name that a spreadsheet would run as a formula has an apostrophe before it, which the import
// takes away.
func (c *Client) ExportFile(ctx context.Context, format Format, to io.Writer) (int64, error) {
	mediaType, err := format.mediaType()
	if err != nil {
		return 0, err
	}
	prepared, err := c.prepare(ctx, request{method: http.MethodGet, path: "/exports/pets." + string(format)})
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
			return 0, fmt.Errorf("animalstore: %w before this could be tried again: %w", ended, err)
		}
	}
}

// export makes one attempt. It may last for as long as there is something to come.
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
			err = fmt.Errorf("animalstore: GET %s: the export is not whole: %w", prepared.URL, err)
		}
		return written, true, err
	}
	if got.body, err = io.ReadAll(io.LimitReader(idle, maxResponse)); err != nil {
		return 0, false, fmt.Errorf("animalstore: GET %s: the answer broke off: %w", prepared.URL, err)
	}
	if got.status >= 200 && got.status <= 299 {
		return 0, false, got.unexpectedError("it is no export")
	}
	return 0, false, got.asError()
}
