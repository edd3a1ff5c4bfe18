package httpapi

import (
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// The routes and the OpenAPI document define the same operations with the same scopes.
func TestRoutesAndDocumentAgree(t *testing.T) {
	t.Parallel()
	documented := map[string]int{} // 1 if only the document has the operation, -1 if only the route table has it
	eachOperation(newShop(t).checks.Doc, func(method, path string, operation *openapi3.Operation) {
		scope := string(noKey)
		if operation.Security == nil { // the document's default security applies
			scope = string(anyKey)
			if _, rest, found := strings.Cut(strings.Join(strings.Fields(operation.Description), " "), "Needs the scope `"); found {
				scope, _, _ = strings.Cut(rest, "`")
			}
		} else if len(*operation.Security) != 0 {
			t.Errorf("%s has a security of its own", operation.OperationID)
		}
		documented[fmt.Sprintf("%s /v1%s %s %s", method, path, operation.OperationID, scope)]++
		if operation.Deprecated != (operation.OperationID == deprecatedOperation) {
			t.Errorf("%s is deprecated: %v", operation.OperationID, operation.Deprecated)
		}
	})
	for _, route := range routes() {
		if hasPathPrefix(route.path, "/v1") {
			documented[fmt.Sprintf("%s %s %s %s", route.method, route.path, route.operation, route.scope)]--
		}
	}
	for operation, n := range documented {
		if n != 0 {
			t.Errorf("%s: is documented: %v, is routed: %v", operation, n > 0, n < 0)
		}
	}
}

func TestErrorCodesAgree(t *testing.T) {
	t.Parallel()
	doc := newShop(t).checks.Doc
	documented := doc.Components.Schemas["Error"].Value.Properties["code"].Value.Enum
	for _, code := range documented {
		if web.Status[shop.Code(code.(string))] == 0 {
			t.Errorf("the document has the code %s, which the service does not know", code)
		}
	}
	if len(documented) != len(web.Status) {
		t.Errorf("the document has the codes %v, the service %v", documented, web.Status)
	}
	eachOperation(doc, func(_, _ string, operation *openapi3.Operation) {
		for status, response := range operation.Responses.Map() {
			for _, media := range response.Value.Content {
				for name, example := range media.Examples {
					body, _ := example.Value.Value.(map[string]any)
					code, isError := body["code"].(string)
					if status >= "400" != isError {
						t.Errorf("%s %s: the example %s is an error: %v", operation.OperationID, status, name, isError)
					}
					if isError && (fmt.Sprint(web.Status[shop.Code(code)]) != status || fmt.Sprint(body["status"]) != status) {
						t.Errorf("%s %s: the example %s is %v", operation.OperationID, status, name, body)
					}
				}
			}
		}
	})
}

// Every example request in the OpenAPI document succeeds.
func TestDocumentedExamplesSucceed(t *testing.T) {
	t.Parallel()
	sent := 0
	stocked := func() *testShop {
		s := newShop(t)
		s.stockEverything()
		return s
	}
	looked := stocked()
	eachOperation(looked.checks.Doc, func(method, path string, operation *openapi3.Operation) {
		s := looked
		if method != "GET" { // each operation gets its own shop, because some examples delete resources
			s = stocked()
		}
		send := func(query url.Values, body bodyExample, headers ...string) {
			t.Helper()
			sent++
			got := s.do(method, "/v1"+path+"?"+query.Encode(), body.text, append(headers, body.contentType)...)
			if got.StatusCode >= 300 && got.StatusCode != 304 {
				t.Errorf("%s: %v %s %v returned %d %s", operation.OperationID, query, body, headers, got.StatusCode, got.body)
			}
		}
		for _, parameter := range operation.Parameters {
			if p := parameter.Value; p.In == "path" {
				path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(examplesOf(t, p)[0]))
			}
		}
		bodies := bodyExamples(t, operation)
		for _, body := range bodies {
			send(nil, body)
		}
		if method == "DELETE" {
			return // the resource no longer exists
		}
		together := url.Values{}
		for _, parameter := range operation.Parameters {
			p := parameter.Value
			for _, example := range examplesOf(t, p) {
				switch p.In {
				case "query":
					values, repeated := example.([]any)
					if !repeated {
						values = []any{example}
					}
					alone := url.Values{}
					for _, value := range values {
						alone.Add(p.Name, fmt.Sprint(value))
					}
					send(alone, bodyExample{})
					maps.Copy(together, alone)
				case "header":
					s = stocked() // the first animal is still available
					send(nil, bodies[0], p.Name+": "+fmt.Sprint(example))
				}
			}
		}
		if len(together) > 0 {
			send(together, bodyExample{})
		}
	})
	if sent < 20 {
		t.Errorf("only %d examples were found", sent)
	}
}

// bodyExample is an example of a request body with its Content-Type header.
type bodyExample struct{ contentType, text string }

// bodyExamples returns the request bodies to send to an operation. If the body is optional, an empty one
// is included.
func bodyExamples(t *testing.T, operation *openapi3.Operation) (bodies []bodyExample) {
	t.Helper()
	if operation.RequestBody == nil {
		return []bodyExample{{}}
	}
	if !operation.RequestBody.Value.Required {
		bodies = []bodyExample{{}}
	}
	for contentType, media := range operation.RequestBody.Value.Content {
		for _, example := range media.Examples {
			text, isText := example.Value.Value.(string)
			if !isText {
				text = toJSON(t, example.Value.Value)
			}
			bodies = append(bodies, bodyExample{"Content-Type: " + contentType, text})
		}
	}
	return bodies
}

func examplesOf(t *testing.T, p *openapi3.Parameter) (examples []any) {
	t.Helper()
	if p.Example != nil {
		return []any{p.Example}
	}
	for _, example := range p.Examples {
		examples = append(examples, example.Value.Value)
	}
	if len(examples) == 0 {
		t.Fatalf("the parameter %s has no example", p.Name)
	}
	return examples
}

// The OpenAPI document states the same limits and defaults as the code.
func TestDocumentedLimits(t *testing.T) {
	t.Parallel()
	parameters := newShop(t).checks.Doc.Components.Parameters
	limit := parameters["limit"].Value.Schema.Value
	if *limit.Min != 1 || *limit.Max != maxLimit || limit.Default != float64(defaultLimit) {
		t.Errorf("the document's limit is %v to %v, default %v", *limit.Min, *limit.Max, limit.Default)
	}
	if most := *parameters["id"].Value.Schema.Value.MaxItems; most != maxIDs {
		t.Errorf("the document takes %d ids", most)
	}
}

// The OpenAPI document states the same event types and webhook limits as the code.
func TestDocumentedEvents(t *testing.T) {
	s := parallelShop(t)
	schemas := s.checks.Doc.Components.Schemas
	if got, want := fmt.Sprint(schemas["EventType"].Value.Enum), fmt.Sprint(shop.EventTypes()); got != want {
		t.Errorf("the document has the types %s, the service %s", got, want)
	}
	in, out := schemas["WebhookTypes"].Value.MaxItems, s.checks.Doc.Components.Parameters["eventType"].Value.Schema.Value.MaxItems
	if most := uint64(len(shop.EventTypes())); *in != most || *out != most {
		t.Errorf("the document has up to %d and %d types, want %d", *in, *out, most)
	}
	for _, status := range schemas["DeliveryStatus"].Value.Enum {
		if problem := shop.DeliveryStatusProblem(status.(string)); problem != "" {
			t.Errorf("%s %s", status, problem)
		}
	}
	told := s.checks.Doc.Webhooks["event"].Post.Responses.Default().Value.Description
	if want := fmt.Sprintf("no response within %d seconds", int(shop.ClaimDuration.Seconds())/2); !strings.Contains(*told, want) {
		t.Errorf("the document does not say %q", want)
	}
	const scheme = "https://"
	longest := scheme + strings.Repeat("a", int(*schemas["WebhookUrl"].Value.MaxLength)-len(scheme))
	s.do("POST", "/v1/webhooks", `{"url":"`+longest+`"}`).want(t, 201, "")
	s.do("POST", "/v1/webhooks", `{"url":"`+longest+`a"}`).want(t, 400, "")
}

func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	const public, staging = "https://pets.example.com/shop/v1", "https://staging.example.com/v1"
	for want, change := range map[string]func(*Config){ // "URL description" for each server
		"{url}/v1 Production":                          func(*Config) {},
		public + " Production":                         func(c *Config) { c.PublicURL = public },
		"{url}/v1 Production, " + staging + " Staging": func(c *Config) { c.StagingURL = staging },
	} {
		s := newShop(t, change)
		for path, contentType := range map[string]string{"/v1/openapi.json": "application/json", "/v1/openapi.yaml": "application/yaml"} {
			got := s.do("GET", path, "", "Authorization: ", "X-Forwarded-Host: evil.example.com", "X-Forwarded-Proto: https",
				"Forwarded: host=evil.example.com")
			got.want(t, 200, "")
			doc, err := openapi3.NewLoader().LoadFromData(got.body)
			if err != nil {
				t.Fatal(err)
			}
			var servers []string
			for _, server := range doc.Servers {
				servers = append(servers, server.URL+" "+server.Description)
			}
			if want := strings.ReplaceAll(want, "{url}", s.url); strings.Join(servers, ", ") != want {
				t.Errorf("%s: the servers are %v, want %s", path, servers, want)
			}
			if got.Header.Get("Content-Type") != contentType || doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.0.0" {
				t.Errorf("%s: %s, OpenAPI %s, version %s", path, got.Header.Get("Content-Type"), doc.OpenAPI, doc.Info.Version)
			}
			s.do("GET", path, "", "If-None-Match: "+got.Header.Get("ETag")).want(t, 304, "")
		}
	}
}

// Links contain the public URL with its path prefix. Forwarded headers are ignored.
func TestLinksUseThePublicURL(t *testing.T) {
	s := parallelShop(t, func(c *Config) { c.PublicURL = "https://pets.example.com/shop/v1" })
	s.add(`{"name":"Rex","categoryId":1}`)
	created := s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	if location := created.Header.Get("Location"); location != "/shop/v1/pets/2" {
		t.Errorf("Location is %q", location)
	}
	list := s.do("GET", "/v1/pets?limit=1", "", "X-Forwarded-Host: evil.example.com")
	if next := list.link("next"); !strings.HasPrefix(next, "https://pets.example.com/shop/v1/pets?cursor=") {
		t.Errorf("rel=next is %q", next)
	}
	if successor := s.do("GET", "/v1/pets/1", "").link("successor-version"); successor != "/shop/v1/pets" {
		t.Errorf("the successor is %q", successor)
	}
}
