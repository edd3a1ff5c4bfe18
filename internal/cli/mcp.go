package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/client"
	"animalstore/internal/mcp"
	"animalstore/internal/version"
)

type mcpCommand struct{ apiFlags }

// Help says who starts the command, and what the assistant may do.
func (mcpCommand) Help() string {
	return "An assistant starts this command itself: enter it in the assistant's settings, with the variables ANIMALSTORE_URL and " +
		"ANIMALSTORE_KEY. The assistant sees the tools that the scopes of the key allow. docs/assistants.md shows the settings.\n\n" +
		exitCodesHelp{}.Help()
}

// Run serves an assistant on standard input and output until the assistant closes its end.
func (m *mcpCommand) Run(ctx context.Context, t terminal) error {
	c, err := m.newClient(client.WithRetries(retries), client.WithoutCustomers())
	if err != nil {
		return err
	}
	key, err := c.CurrentKey(ctx)
	if err != nil {
		return explainError(ctx, err, false)
	}
	server, err := mcp.New(version.Number, func(err error) { fmt.Fprintln(t.err, err) })
	if err != nil {
		return err
	}
	if isTerminal(t.out) {
		fmt.Fprintln(t.err, "This command is for assistants, which start it themselves. Press Ctrl-C to stop.")
	}
	err = server.ForScopes(key.Scopes, func(context.Context) *client.Client { return c }).
		Run(ctx, &sdk.IOTransport{Reader: os.Stdin, Writer: nopCloser{t.out}})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// nopCloser is an io.WriteCloser whose Close does nothing, because the transport must not close the program's output.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
