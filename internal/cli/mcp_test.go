package cli

import (
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/internal/shoptest"
)

// An assistant that starts the command can use the store over its standard input and output, with the tools that
// the key allows, and the command ends with it.
func TestAssistantOverStandardInputAndOutput(t *testing.T) {
	installProgram(t)
	newShop(t)
	t.Setenv("ANIMALSTORE_KEY", createKey(t, "--name", "assistant", "--scope", "pets:read,pets:write,events:read"))
	command := exec.Command("animalstore", "mcp")
	session := shoptest.Must(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &sdk.CommandTransport{Command: command}, nil))(t)
	call := func(name string, arguments map[string]any) (text string, isError bool) {
		t.Helper()
		got := shoptest.Must(session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments}))(t)
		return got.Content[0].(*sdk.TextContent).Text, got.IsError
	}
	for range 2 { // the repetition adds nothing
		text, failed := call("add_animal", map[string]any{"name": "Rex", "categoryId": 1, "status": "available", "idempotencyKey": "the-first-one"})
		if failed || !strings.HasPrefix(text, `animal 1: "Rex", category 1, available, version `) {
			t.Errorf("got %q", text)
		}
	}
	if text, failed := call("get_animal", map[string]any{"id": 1}); failed || strings.Count(text, "\n") != 1 || !strings.Contains(text, "pet.created pets/1 by keys/1") {
		t.Errorf("got %q", text)
	}
	if text, failed := call("recent_activity", nil); failed || !strings.HasPrefix(text, "2 changes\n") {
		t.Errorf("got %q", text)
	}
	if text, failed := call("place_order", map[string]any{"animalId": 1}); !failed || !strings.Contains(text, "orders:write. (insufficient_scope)") {
		t.Errorf("got %q", text)
	}
	if text, failed := call("get_animal", map[string]any{"id": 99}); !failed || !strings.HasSuffix(text, "(not_found)") {
		t.Errorf("got %q", text)
	}
	shoptest.OK(t, session.Close())
	if code := command.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("the command ended with %d", code)
	}
}
