package e2e

import (
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// An assistant that starts the mcp command can use the store over the command's standard input and output. It can use
// the tools that its key allows, and the command exits when the assistant ends the session.
func TestAssistantOverStandardInputAndOutput(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	key := f.CreateKey("--name", "assistant", "--scope", "pets:read,pets:write,events:read")
	command := exec.Command(programtest.Binary(t), "mcp")
	command.Dir, command.Env = f.Dir, append(f.Environment(), "ANIMALSTORE_URL="+p.URL+"/v1", "ANIMALSTORE_KEY="+key)
	session := shoptest.Must(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &sdk.CommandTransport{Command: command, TerminateDuration: programtest.WaitTimeout}, nil))(t)
	call := func(name string, arguments map[string]any) (text string, isError bool) {
		t.Helper()
		got := shoptest.Must(session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments}))(t)
		return got.Content[0].(*sdk.TextContent).Text, got.IsError
	}
	for range 2 { // the second call must not add another animal, because it is a repeat
		text, failed := call("add_animal", map[string]any{"name": "Rex", "categoryId": 1, "status": "available", "idempotencyKey": "the-first-one"})
		if failed || !strings.HasPrefix(text, `animal 1: "Rex", category 1, available, version `) {
			t.Errorf("got %q", text)
		}
	}
	if text, failed := call("get_animal", map[string]any{"id": 1}); failed || strings.Count(text, "\n") != 2 || !strings.Contains(text, "pet.created pets/1 by keys/1") {
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
	p.Stop()
	if text, failed := call("count_animals", nil); !failed || !strings.HasSuffix(text, "(unavailable)") {
		t.Errorf("without the service: got %q", text)
	}
	shoptest.OK(t, session.Close())
	if code := command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the command ended with %d", code)
	}
}
