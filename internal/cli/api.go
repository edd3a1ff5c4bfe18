package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"animalstore/client"
)

// onAPI are the flags of commands that work over the API of a running service.
type onAPI struct {
	URL     string `name:"url" env:"ANIMALSTORE_URL" default:"http://127.0.0.1:8080/v1" placeholder:"URL" help:"The base address of the service, ending in /v1 (default ${default})."`
	KeyFile string `name:"key-file" placeholder:"FILE" help:"A file with the API key; or put the key itself into $$ANIMALSTORE_KEY."`
}

// client makes the client that the flags ask for. No message shows anything of the key.
func (o onAPI) client(options ...client.Option) (*client.Client, error) {
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

// plainly says what became of a call, without what only programs need.
func plainly(err error) error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		if e.Status >= 500 && e.RequestID != "" {
			return fmt.Errorf("%s (request %s)", e.Message, e.RequestID)
		}
		return errors.New(e.Message)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		address, _, _ := strings.Cut(e.URL, "/v1/")
		return fmt.Errorf("the service at %s cannot be reached: %w", address, e.Err)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "animalstore: "))
}
