package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/internal/otlptest"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// marker is a part of every member of every customer in this test, and of nothing else.
const marker = "nqzx"

// customers watches where the members of customers appear.
type customers struct {
	*testing.T
	f            *programtest.Folder
	p            *programtest.Program
	staff, other string // keys with and without the scope customers
}

// hides fails if a text contains a part of a customer.
func (c *customers) hides(what, text string) {
	c.Helper()
	if at := strings.Index(strings.ToLower(text), marker); at >= 0 {
		c.Errorf("%s shows a customer: …%s…", what, text[max(0, at-200):min(len(text), at+50)])
	}
}

// shows fails if a response of the API to the key for staff does not contain a customer. Without this check, hides could not
// fail.
func (c *customers) shows(method, path, body string) {
	c.Helper()
	if got := c.p.Send(method, path, c.staff, body); got.Status/100 != 2 || !strings.Contains(got.Body, marker) {
		c.Errorf("%s %s: got %v, want the customer", method, path, got)
	}
}

// The members of customers are seen by keys with the scope customers, and by nobody else: not in events, messages to webhooks,
// logs, traces, metrics and responses to other keys, and not by assistants. Once they are erased, they are nowhere, neither in
// the tables and indexes nor in the files of SQLite.
func TestCustomersAreSeenByFewAndErasedEverywhere(t *testing.T) {
	t.Parallel()
	for engine, folder := range map[string]func(*testing.T) (*programtest.Folder, func(*customers)){
		"sqlite": func(t *testing.T) (*programtest.Folder, func(*customers)) {
			return programtest.NewFolderWithKey(t), (*customers).wantNoneInFiles
		},
		"postgres": func(t *testing.T) (*programtest.Folder, func(*customers)) {
			database := pgtest.Shared(t).NewDatabase(t)
			return programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+database), func(c *customers) { c.wantNoneInTables(database) }
		},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f, wantNone := folder(t)
			collector := otlptest.NewCollector(t)
			var messages programtest.Transcript
			var steps atomic.Int64
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				fmt.Fprintf(&messages, "%v %s\n", r.Header, body)
				if strings.Contains(string(body), `"order.`) {
					steps.Add(1)
				}
			}))
			t.Cleanup(receiver.Close)
			f.Variables = append(f.Variables, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_BSP_SCHEDULE_DELAY=50")
			c := &customers{T: t, f: f, p: f.Serve("--webhook-allow-private")}
			c.staff = f.CreateKey("--name", "staff", "--role", "staff")
			c.other = f.CreateKey("--name", "other", "--scope", "pets:read,pets:write,orders:read,orders:write,events:read")
			f.Variables = append(f.Variables, "ANIMALSTORE_KEY="+c.other)
			programtest.ExpectStatus(t, c.p.Send("POST", "/v1/webhooks", programtest.AdminKey, `{"url":"`+receiver.URL+`"}`), 201)
			c.placeOrders()
			c.askAssistants()

			feed := strings.Join(c.p.Feed(), "\n")
			orderEvents := int64(strings.Count(feed, `"type":"order.`))
			programtest.Await(t, "the messages", func() bool { return steps.Load() >= orderEvents })
			c.hides("the feed", feed)
			c.hides("a message", messages.String())
			c.hides("the metrics", c.p.Send("GET", "/metrics", programtest.AdminKey, "").Body)
			c.hides("the list of deliveries", c.p.Send("GET", "/v1/webhooks/1/deliveries", programtest.AdminKey, "").Body)
			collector.Await("the span of a search", func(s otlptest.Span) bool { return s.Name == "GET /v1/store/orders" })
			c.hides("a trace", fmt.Sprint(collector.Spans()))

			for id := range 3 {
				programtest.ExpectStatus(t, c.p.Send("DELETE", fmt.Sprintf("/v1/store/orders/%d/customer", id+1), c.staff, ""), 204)
			}
			for _, path := range []string{"/v1/store/orders", "/v1/store/orders/1", "/v1/store/orders?q=" + marker} {
				c.hides("the response to staff after the erasure", c.p.Send("GET", path, c.staff, "").Body)
			}
			wantNone(c)
			c.p.Stop()
			c.hides("the log", c.p.Output.String())
			if engine == "sqlite" {
				c.wantNoneInFiles()
			}
		})
	}
}

// placeOrders places and changes orders 1 to 3 with customers and checks who sees them.
func (c *customers) placeOrders() {
	customer := func(n int) string {
		return fmt.Sprintf(`"customer":{"name":"%s name %d","phone":"%[1]s %d","email":"%[1]s%[2]d@%[1]s.example"}`, marker, n)
	}
	for id := 1; id <= 3; id++ {
		c.p.Create(programtest.Pet{Name: "Rex", CategoryID: 1, Status: "available"})
		body := fmt.Sprintf(`{"petId":%d,"reference":"desk",%s}`, id, customer(id))
		for range 2 {
			c.hides("the response to an order", c.p.Send("POST", "/v1/store/orders", c.other, body, fmt.Sprintf(`Idempotency-Key: "%d"`, id)).Body)
		}
	}
	for _, body := range []string{`{"petId":1,"customer":{"email":"` + marker + `"}}`, `{"petId":1,` + customer(1) + `}`, `{"petId":99,` + customer(1) + `}`} {
		c.hides("an error", c.p.Send("POST", "/v1/store/orders", c.other, body).Body)
	}
	c.shows("PATCH", "/v1/store/orders/1", `{"status":"approved","customer":{"phone":"`+marker+` changed"}}`)
	c.shows("PATCH", "/v1/store/orders/1", `{"status":"delivered"}`)
	c.shows("POST", "/v1/store/orders/1/undo", "")
	c.shows("PATCH", "/v1/store/orders/2", `{"status":"cancelled","reference":"desk 2"}`)
	c.shows("GET", "/v1/store/orders", "")
	c.shows("GET", "/v1/store/orders/3", "")
	c.shows("GET", "/v1/store/orders?q="+marker+"+name", "")
	for _, path := range []string{
		"/v1/store/orders", "/v1/store/orders/1", "/v1/store/orders?q=" + marker, "/v1/store/orders?q=desk", "/v1/events", "/v1/events?type=order.updated",
	} {
		got := c.p.Send("GET", path, c.other, "")
		programtest.ExpectStatus(c.T, got, 200)
		c.hides("GET "+path, got.Body)
		c.hides("a header of GET "+path, strings.ReplaceAll(fmt.Sprint(got.Header), "q="+marker, "")) // the links repeat the query
	}
	changed := c.p.Send("PATCH", "/v1/store/orders/3", c.other, `{`+customer(4)+`}`)
	programtest.ExpectStatus(c.T, changed, 200)
	c.hides("the response to a change", changed.Body)
	result := c.f.MustRun("events", "--url", c.p.URL+"/v1", "--limit", "100")
	c.hides("the command events", result.Stdout+result.Stderr)
}

// askAssistants calls every tool for orders with keys that have the scope customers, over HTTP and over standard input.
func (c *customers) askAssistants() {
	command := exec.Command(programtest.Binary(c.T), "mcp")
	command.Dir, command.Env = c.f.Dir, append(c.f.Environment(), "ANIMALSTORE_URL="+c.p.URL+"/v1", "ANIMALSTORE_KEY="+c.staff)
	for name, transport := range map[string]sdk.Transport{
		"standard input": &sdk.CommandTransport{Command: command, TerminateDuration: programtest.WaitTimeout},
		"HTTP":           &sdk.StreamableClientTransport{Endpoint: c.p.URL + "/mcp", HTTPClient: &http.Client{Transport: staffKey(c.staff)}, MaxRetries: -1},
	} {
		session := shoptest.Must(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(c.Context(), transport, nil))(c.T)
		call := func(tool string, arguments map[string]any) (string, any) {
			c.Helper()
			got := shoptest.Must(session.CallTool(c.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments}))(c.T)
			text := got.Content[0].(*sdk.TextContent).Text + fmt.Sprint(got.StructuredContent)
			if got.IsError {
				c.Errorf("%s over %s: %s", tool, name, text)
			}
			c.hides(tool+" over "+name, text)
			return text, got.StructuredContent
		}
		call("find_orders", nil)
		if found, _ := call("find_orders", map[string]any{"text": "desk"}); !strings.Contains(found, "3 orders") {
			c.Errorf("over %s, %s", name, found)
		}
		if found, _ := call("find_orders", map[string]any{"text": marker}); !strings.HasPrefix(found, "0 orders") {
			c.Errorf("over %s, a search for a customer found %s", name, found)
		}
		_, order := call("get_order", map[string]any{"id": 3})
		call("change_order", map[string]any{"id": 3, "version": order.(map[string]any)["version"], "reference": "desk of " + name})
		call("get_animal", map[string]any{"id": 3})
		call("recent_activity", nil)
		shoptest.OK(c.T, session.Close())
	}
}

// staffKey is a transport that sends an API key.
type staffKey string

func (k staffKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// wantNoneInFiles waits until no file of SQLite contains a part of a customer.
func (c *customers) wantNoneInFiles() {
	c.Helper()
	programtest.Await(c.T, "files without customers", func() bool {
		for _, name := range []string{"animalstore.db", "animalstore.db-wal"} {
			content, err := os.ReadFile(c.f.Path(name))
			if err != nil && !os.IsNotExist(err) || strings.Contains(strings.ToLower(string(content)), marker) {
				return false
			}
		}
		return true
	})
}

// wantNoneInTables waits until no row of any table contains a part of a customer, and no word is in the index of customers.
func (c *customers) wantNoneInTables(database string) {
	c.Helper()
	db := pgtest.Connect(c.T, database)
	tables := pgtest.Column[string](db, "SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public'")
	if len(tables) < 20 {
		c.Fatalf("the tables are %q", tables)
	}
	programtest.Await(c.T, "tables without customers", func() bool {
		for _, table := range tables {
			if len(pgtest.Column[int](db, "SELECT 1 FROM "+table+" AS t WHERE t::text ILIKE '%"+marker+"%' OR t::text ILIKE '%6e717a78%' LIMIT 1")) > 0 {
				return false
			}
		}
		return len(pgtest.Column[int](db, "SELECT 1 FROM customer_search LIMIT 1")) == 0
	})
}
