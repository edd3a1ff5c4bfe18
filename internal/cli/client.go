package cli

import (
	"context"
	"os"
	"strings"

	"animalstore/client"
	"animalstore/internal/version"
)

// apiFlags holds the flags for commands that use the API of a running service.
type apiFlags struct {
	URL     string `name:"url" env:"ANIMALSTORE_URL" default:"http://127.0.0.1:8080/v1" placeholder:"URL" help:"Base URL of the service, ending in /v1 (default ${default})."`
	KeyFile string `name:"key-file" placeholder:"FILE" help:"File with the API key; or set $$ANIMALSTORE_KEY to the key itself."`
}

// newClient returns a client with the URL and the key that the flags specify. Errors never contain any part
// of the key.
func (o apiFlags) newClient(options ...client.Option) (*client.Client, error) {
	source, key := "ANIMALSTORE_KEY", os.Getenv("ANIMALSTORE_KEY")
	if o.KeyFile != "" {
		content, err := os.ReadFile(o.KeyFile)
		if err != nil {
			return nil, usagef("--key-file: %w", err)
		}
		source, key = "--key-file", strings.TrimSpace(string(content))
	}
	if key == "" {
		return nil, usagef("no API key: set ANIMALSTORE_KEY, or name a file with --key-file; create a key with animalstore keys create")
	}
	if err := checkBaseURL(o.URL); err != nil || o.URL == "" {
		return nil, usagef("--url: expected a URL such as http://127.0.0.1:8080/v1")
	}
	c, err := client.New(o.URL, key, append(options, client.WithUserAgent("animalstore-cli/"+version.Number))...)
	if err != nil {
		return nil, usagef("%s: the key may contain only visible ASCII characters and no spaces", source)
	}
	return c, nil
}

// storeFlags holds the flags for the everyday commands: pets, categories, orders, events, store and inventory.
type storeFlags struct {
	apiFlags
	outputFlag
}

// retries is the maximum number of retries per request. It is lower than for an import, because a person is
// waiting.
const retries = 3

// read creates a client and passes it to the function named calls. This function may only send requests that change
// nothing.
func (o storeFlags) read(ctx context.Context, calls func(*client.Client) error) error {
	return o.do(ctx, false, calls)
}

// write is like read, but the function may also send requests that change something. If such a request fails but the
// change may have been made anyway, the error message says so.
func (o storeFlags) write(ctx context.Context, calls func(*client.Client) error) error {
	return o.do(ctx, true, calls)
}

func (o storeFlags) do(ctx context.Context, changes bool, calls func(*client.Client) error) error {
	c, err := o.newClient(client.WithRetries(retries))
	if err != nil {
		return err
	}
	return explainError(ctx, calls(c), changes)
}

// forEachID calls do for each id. It continues if an id does not exist or the service refuses the request. It stops at
// any other error.
func forEachID(ctx context.Context, t terminal, ids []int64, do func(id int64) error) error {
	code := exitOK
	for _, id := range ids {
		err := do(id)
		if err == nil {
			continue
		}
		err = explainError(ctx, err, true)
		if len(ids) == 1 || ctx.Err() != nil {
			return err
		}
		switch now := reportError(t.err, err); now {
		case exitNotFound, exitRefused:
			code = max(code, now)
		default:
			return reportedError{max(code, now)} // the next id would fail in the same way
		}
	}
	if code != exitOK {
		return reportedError{code}
	}
	return nil
}
