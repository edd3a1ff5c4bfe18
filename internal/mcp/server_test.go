package mcp

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/client"
	"animalstore/internal/leaktest"
	"animalstore/internal/shoptest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// connect connects the SDK's client to a server that has no store.
func connect(t *testing.T, report func(error), scopes ...client.Scope) *sdk.ClientSession {
	t.Helper()
	server := shoptest.Must(New("test", report))(t).ForScopes(scopes, func(context.Context) *client.Client { return nil })
	near, far := sdk.NewInMemoryTransports()
	session := shoptest.Must(server.Connect(t.Context(), far, nil))(t)
	own := shoptest.Must(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil))(t)
	t.Cleanup(func() {
		own.Close()
		session.Wait()
	})
	return own
}

// If a tool panics, its call fails, but the program keeps running. The report tells the operator where the panic
// happened. Here the tool panics because there is no API client.
func TestPanicOfAToolIsAnError(t *testing.T) {
	reports := make(chan error, 2)
	session := connect(t, func(err error) { reports <- err }, client.ScopePetsRead)
	for range 2 {
		got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "count_animals"})
		if err == nil || strings.Contains(err.Error(), "nil pointer") {
			t.Errorf("got %v, %v, want an error without details", got, err)
		}
		if report := (<-reports).Error(); !strings.Contains(report, "panic in tools/call: ") || !strings.Contains(report, "mcp.countAnimals(") {
			t.Errorf("got the report %s, want the method and the stack", report)
		}
	}
}

// If a key may not use a tool, the refusal names the scope that the tool requires, so that a person can give the
// assistant another key.
func TestToolOutsideTheScopesIsRefused(t *testing.T) {
	session := connect(t, func(err error) { t.Error(err) }, client.ScopePetsRead, client.ScopeOrdersRead)
	got := shoptest.Must(session.CallTool(t.Context(), &sdk.CallToolParams{Name: "place_order"}))(t)
	const want = "This API key may not do that; use one with the scope orders:write. (insufficient_scope)"
	if text := got.Content[0].(*sdk.TextContent).Text; !got.IsError || text != want {
		t.Errorf("got %v %q, want %q", got.IsError, text, want)
	}
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "nonsense"}); err == nil {
		t.Error("an unknown tool was called")
	}
}

// A change is described by the members that differ, and a new or deleted resource by all of its members.
func TestDescribeChange(t *testing.T) {
	const rex, max = `{"id":1,"name":"Rex","categoryId":7,"updatedAt":"x"}`, `{"id":1,"name":"Max","categoryId":7,"status":"sold","updatedAt":"y"}`
	for _, c := range []struct{ current, previous, want string }{
		{rex, "", `categoryId 7, name "Rex"`},
		{"", rex, `categoryId 7, name "Rex"`},
		{max, rex, `name "Rex" → "Max", status "sold"`},
		{rex, max, `name "Max" → "Rex", status "sold" → none`},
		{rex, rex, ""},
	} {
		data := client.EventData{}
		if c.current != "" {
			data.Current = []byte(c.current)
		}
		if c.previous != "" {
			data.Previous = []byte(c.previous)
		}
		if got := describeChange(data); got != c.want {
			t.Errorf("%s after %s: got %q, want %q", c.current, c.previous, got, c.want)
		}
	}
}
