package httpapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

const (
	acceptMCP = "Accept: application/json, text/event-stream" // the protocol requires clients to accept both types
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
)

// withKey is a transport that adds an API key to every request.
type withKey struct {
	key string
	http.RoundTripper
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.RoundTripper.RoundTrip(r)
}

// assistant is a client session of the official MCP SDK.
type assistant struct {
	*sdk.ClientSession
	t       *testing.T
	schemas map[string]*jsonschema.Resolved // the output schema of each tool, by the name of the tool
}

// assistant connects an assistant that uses an API key. If protocol is empty, the newest version is used.
func (s *testShop) assistant(t *testing.T, key, protocol string) assistant {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: s.url + mcpPath, HTTPClient: &http.Client{Transport: withKey{key, s.client.Transport}}, MaxRetries: -1,
	}, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return assistant{session, t, map[string]*jsonschema.Resolved{}}
}

// tools returns the tools that the assistant sees, by name. It also records their output schemas for call.
func (a assistant) tools() map[string]*sdk.Tool {
	a.t.Helper()
	list := shoptest.Must(a.ListTools(a.t.Context(), nil))(a.t)
	tools := map[string]*sdk.Tool{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
		var schema jsonschema.Schema
		shoptest.OK(a.t, json.Unmarshal(encode(tool.OutputSchema), &schema))
		a.schemas[tool.Name] = shoptest.Must(schema.Resolve(nil))(a.t)
	}
	return tools
}

// call calls a tool and checks that a successful result matches the output schema that tools recorded.
func (a assistant) call(name, arguments string) *sdk.CallToolResult {
	a.t.Helper()
	got, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		a.t.Fatalf("%s %s: %v", name, arguments, err)
	}
	if schema := a.schemas[name]; schema != nil && !got.IsError {
		if err := schema.Validate(got.StructuredContent); err != nil {
			a.t.Errorf("%s %s: the answer %s does not match the schema: %v", name, arguments, encode(got.StructuredContent), err)
		}
	}
	return got
}

// want calls a tool and checks that it succeeds and that a regular expression matches the whole text of its result.
func (a assistant) want(name, arguments, pattern string) *sdk.CallToolResult {
	a.t.Helper()
	got := a.call(name, arguments)
	if text := textOf(got); got.IsError || !regexp.MustCompile(`^(?s:`+pattern+`)$`).MatchString(text) {
		a.t.Errorf("%s %s: got %v %q, want %q", name, arguments, got.IsError, text, pattern)
	}
	return got
}

// wantError calls a tool and checks that it fails with the given error code.
func (a assistant) wantError(name, arguments string, code shop.Code) {
	a.t.Helper()
	got := a.call(name, arguments)
	if !got.IsError || !strings.HasSuffix(textOf(got), "("+string(code)+")") || got.Meta["animalstore/code"] != string(code) || got.StructuredContent != nil {
		a.t.Errorf("%s %s: got %s, want the error %s", name, arguments, encode(got), code)
	}
}

func textOf(result *sdk.CallToolResult) string { return result.Content[0].(*sdk.TextContent).Text }

// version returns the version in the structured content of a tool's result. It fails the test if the text of the result
// does not contain the same version.
func version(t *testing.T, result *sdk.CallToolResult) string {
	t.Helper()
	version, _ := result.StructuredContent.(map[string]any)["version"].(string)
	if version == "" || !strings.Contains(textOf(result), ", version "+version) {
		t.Fatalf("got %s, want a version in the text, too", encode(result))
	}
	return version
}
