package cli

import (
	"context"
	"os"
	"strings"

	"animalstore/client"
)

// apiFlags are the flags of commands that work over the API of a running service.
type apiFlags struct {
	URL     string `name:"url" env:"ANIMALSTORE_URL" default:"http://127.0.0.1:8080/v1" placeholder:"URL" help:"The base address of the service, ending in /v1 (default ${default})."`
	KeyFile string `name:"key-file" placeholder:"FILE" help:"A file with the API key; or put the key itself into $$ANIMALSTORE_KEY."`
}

// newClient makes the client that the flags ask for. No message shows anything of the key.
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
		return nil, usagef("there is no API key: put it into the variable ANIMALSTORE_KEY, or into a file that --key-file names (animalstore keys create makes one)")
	}
	if err := checkBaseURL(o.URL); err != nil || o.URL == "" {
		return nil, usagef("--url: it must be an address such as http://127.0.0.1:8080/v1")
	}
	c, err := client.New(o.URL, key, append(options, client.WithUserAgent("animalstore-cli/"+buildVersion()))...)
	if err != nil {
		return nil, usagef("%s: the key must have visible ASCII characters only, and no spaces", source)
	}
	return c, nil
}

// storeFlags are the flags of commands for daily use.
type storeFlags struct {
	apiFlags
	outputFlag
}

// retries are fewer than those of an import: somebody waits.
const retries = 3

// read makes calls that change nothing.
func (o storeFlags) read(ctx context.Context, calls func(*client.Client) error) error {
	return o.do(ctx, false, calls)
}

// write makes calls of which something may be left when they fail.
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

// forEachID does something with each of several things. What is refused for one of them does not keep it from the others.
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
			return reportedError{max(code, now)} // it would be the same with the next
		}
	}
	if code != exitOK {
		return reportedError{code}
	}
	return nil
}
