package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"animalstore/api"
	"animalstore/api/apitest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
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
	documented := doc.Components.Schemas["Error"].Value.Properties["code"].Value.Extensions["x-extensible-enum"].([]any)
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

// Every example in the OpenAPI document works if all examples are sent to an empty store in the order of the
// document.
func TestDocumentedExamplesSucceed(t *testing.T) {
	s := parallelShop(t)
	document := shoptest.Must(api.NewDocument())(t)
	examples := shoptest.Must(apitest.Examples(document.YAML(nil)))(t)
	seen := map[string]bool{}
	for _, example := range examples {
		var headers []string
		for name, values := range example.Header {
			headers = append(headers, name+": "+strings.Join(values, ", "))
		}
		got := s.do(example.Method, "/v1"+example.Path, example.Body, headers...)
		if got.StatusCode >= 300 && got.StatusCode != 304 || got.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: %s %s %v returned %d %s", example.Name, example.Method, example.Path, example.Header, got.StatusCode, got.body)
		}
		operation, _, _ := strings.Cut(example.Name, " ")
		seen[operation] = true
	}
	eachOperation(s.checks.Doc, func(_, _ string, operation *openapi3.Operation) {
		if !seen[operation.OperationID] {
			t.Errorf("%s has no example", operation.OperationID)
		}
	})
}

// The OpenAPI document states the same limits, defaults and event types as the code.
func TestDocumentedLimits(t *testing.T) {
	s := parallelShop(t)
	parameters, schemas := s.checks.Doc.Components.Parameters, s.checks.Doc.Components.Schemas
	limit, longest := parameters["limit"].Value.Schema.Value, *schemas["WebhookUrl"].Value.MaxLength
	for what, c := range map[string]struct{ documented, want any }{
		"limit":         {[]any{*limit.Min, *limit.Max, limit.Default}, []any{1, maxLimit, defaultLimit}},
		"ids":           {*parameters["id"].Value.Schema.Value.MaxItems, maxIDs},
		"types":         {schemas["EventType"].Value.Enum, shop.EventTypes()},
		"types to list": {*parameters["eventTypes"].Value.Schema.Value.MaxItems, len(shop.EventTypes())},
	} {
		if got, want := fmt.Sprint(c.documented), fmt.Sprint(c.want); got != want {
			t.Errorf("%s: the document has %s, the service %s", what, got, want)
		}
	}
	for _, status := range schemas["DeliveryStatus"].Value.Enum {
		if problem := shop.DeliveryStatusProblem(status.(string)); problem != "" {
			t.Errorf("%s %s", status, problem)
		}
	}
	told := s.checks.Doc.Webhooks["event"].Post.Responses.Default().Value.Description
	if want := fmt.Sprintf("no response within %d seconds", int(shop.LeaseDuration.Seconds())/2); !strings.Contains(*told, want) {
		t.Errorf("the document does not say %q", want)
	}
	url := "https://" + strings.Repeat("a", int(longest)-len("https://"))
	s.do("POST", "/v1/webhooks", `{"url":"`+url+`"}`).want(t, 201, "")
	s.do("POST", "/v1/webhooks", `{"url":"`+url+`a"}`).want(t, 400, "")
}

func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	const public, staging = "https://pets.example.com/shop/v1", "https://staging.example.com/v1"
	for want, change := range map[string]func(*Config){ // each map key lists the servers as "URL description"
		"{url}/v1 Production":                          func(*Config) {},
		public + " Production":                         func(c *Config) { c.PublicURL = public },
		"{url}/v1 Production, " + staging + " Staging": func(c *Config) { c.StagingURL = staging },
	} {
		s := newShop(t, change)
		for path, contentType := range map[string]string{"/v1/openapi.json": "application/json", "/v1/openapi.yaml": "application/yaml"} {
			got := s.do("GET", path, "", "Authorization: ", "X-Forwarded-Host: evil.example.com", "X-Forwarded-Proto: http",
				"Forwarded: host=evil.example.com")
			got.want(t, 200, "")
			doc := shoptest.Must(openapi3.NewLoader().LoadFromData(got.body))(t)
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
			s.do("HEAD", path, "", "Accept-Encoding: gzip").wantHeaders(t, "Content-Encoding: gzip", "Vary: Accept-Encoding")
		}
	}
}
