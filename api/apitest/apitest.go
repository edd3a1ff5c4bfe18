// Package apitest holds answers against the OpenAPI document, more strictly than the library that it builds on.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Validator holds answers against one document.
type Validator struct {
	Doc    *openapi3.T
	router routers.Router
	// Reached, where it is set, hears of each documented answer that was seen.
	OnResponse func(operation string, status int)
}

// New takes a document as YAML or JSON. Its servers say where the requests go.
func New(document []byte) (*Validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	router, err := gorillamux.NewRouter(doc)
	return &Validator{Doc: doc, router: router}, err
}

// Check reports what the document does not say about an answer: its status, a header, one that is missing, or
// its body. HEAD is held against GET. An answer to a path or method that the document does not have must be an
// Error; only OPTIONS, which the document has in words alone, is left to the caller.
func (v *Validator) Check(req *http.Request, status int, header http.Header, body []byte) error {
	if req.Method == http.MethodOptions {
		return nil
	}
	response, err := v.findResponse(req, status)
	if err != nil {
		return err
	}
	empty := req.Method == http.MethodHead || len(response.Content) == 0
	return errors.Join(
		checkHeaderNames(response, header),
		checkIntegers(header, body),
		checkNoBody(empty, body),
		v.checkContent(response, header, body, empty || isStream(response, header) || isNDJSON(response, header)),
		v.checkNDJSON(response, header, body),
	)
}

// isNDJSON tells whether the answer is lines of animals, which the document has. The library does not know their type.
func isNDJSON(response *openapi3.Response, header http.Header) bool {
	return header.Get("Content-Type") == ndjson && response.Content[ndjson] != nil
}

const ndjson = "application/x-ndjson"

func (v *Validator) checkNDJSON(response *openapi3.Response, header http.Header, body []byte) error {
	if !isNDJSON(response, header) || len(body) == 0 {
		return nil
	}
	text, ended := bytes.CutSuffix(body, []byte("\n"))
	if !ended {
		return fmt.Errorf("the last line of %q has no end", body)
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if err := v.CheckSchema("Pet", line); err != nil {
			return err
		}
	}
	return nil
}

// isStream tells whether the answer is a stream that the document has. It has no end, so it cannot be checked whole:
// whoever reads it checks its parts by CheckSchema.
func isStream(response *openapi3.Response, header http.Header) bool {
	return header.Get("Content-Type") == eventStream && response.Content[eventStream] != nil
}

const eventStream = "text/event-stream"

// CheckSchema reports what one of the document's schemas does not say about a value in JSON.
func (v *Validator) CheckSchema(name string, value []byte) error {
	schema := v.Doc.Components.Schemas[name]
	if schema == nil {
		return fmt.Errorf("the document has no schema %s", name)
	}
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return fmt.Errorf("%q is no JSON: %w", value, err)
	}
	return errors.Join(
		checkIntegers(http.Header{"Content-Type": {"application/json"}}, value),
		schema.Value.VisitJSON(decoded, openapi3.EnableJSONSchema2020(), exactTimes()),
	)
}

// findResponse finds what the document says about this answer.
func (v *Validator) findResponse(req *http.Request, status int) (*openapi3.Response, error) {
	lookup := req.Clone(req.Context())
	if lookup.Method == http.MethodHead {
		lookup.Method = http.MethodGet
	}
	route, _, err := v.router.FindRoute(lookup)
	if err != nil {
		if common := v.commonError(status); common != nil {
			return common, nil
		}
		return nil, fmt.Errorf("%s %s answers %d: %w", req.Method, req.URL, status, err)
	}
	response := route.Operation.Responses.Status(status)
	if response == nil {
		return nil, fmt.Errorf("%s has no answer %d in the document", route.Operation.OperationID, status)
	}
	if v.OnResponse != nil {
		v.OnResponse(route.Operation.OperationID, status)
	}
	return response.Value, nil
}

// commonError is what any path and method may answer, whether the document has them or not.
func (v *Validator) commonError(status int) *openapi3.Response {
	components := v.Doc.Components
	response := &openapi3.Response{
		Headers: openapi3.Headers{
			"Cache-Control":    components.Headers["NoStore"],
			"RateLimit":        components.Headers["RateLimit"],
			"RateLimit-Policy": components.Headers["RateLimitPolicy"],
			"X-Request-Id":     components.Headers["RequestId"],
		},
		Content: openapi3.NewContentWithJSONSchemaRef(components.Schemas["Error"]),
	}
	switch status {
	case http.StatusUnauthorized:
		return components.Responses["Unauthorized"].Value
	case http.StatusForbidden:
		return components.Responses["Forbidden"].Value
	case http.StatusNotFound:
		return response
	case http.StatusMethodNotAllowed:
		allow := openapi3.Parameter{Required: true, Schema: openapi3.NewStringSchema().NewRef()}
		response.Headers["Allow"] = &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: allow}}
		return response
	case http.StatusTooManyRequests:
		return components.Responses["RateLimited"].Value
	case http.StatusInternalServerError:
		return components.Responses["InternalError"].Value
	case http.StatusServiceUnavailable:
		return components.Responses["Unavailable"].Value
	}
	return nil
}

// checkContent asks the library, by way of a made-up operation that answers 200 to GET: it would pass a 304 and
// the answer to a HEAD unseen. It would also look at the first line of a header only, so they are joined.
func (v *Validator) checkContent(response *openapi3.Response, header http.Header, body []byte, withoutBody bool) error {
	joined := http.Header{}
	for name, values := range header {
		joined.Set(name, strings.Join(values, ", "))
	}
	only := openapi3.WithStatus(http.StatusOK, &openapi3.ResponseRef{Value: response})
	operation := &openapi3.Operation{Responses: openapi3.NewResponses(only)}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: &http.Request{Method: http.MethodGet},
			Route:   &routers.Route{Spec: v.Doc, Operation: operation},
		},
		Status: http.StatusOK,
		Header: joined,
		Body:   io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus:   true,
			ExcludeResponseBody:     withoutBody,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{exactTimes()},
		},
	})
}

// exactTimes refuses what only looks like a time: the library would take 30 February.
func exactTimes() openapi3.SchemaValidationOption {
	return openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(s string) error {
		_, err := time.Parse(time.RFC3339, s)
		return err
	}))
}

// checkHeaderNames refuses headers that the document does not have, but for those that HTTP itself and browsers need.
func checkHeaderNames(response *openapi3.Response, header http.Header) error {
	known := []string{"Content-Length", "Content-Type", "Date", "Strict-Transport-Security", "Vary", "X-Content-Type-Options"}
	for name := range response.Headers {
		known = append(known, http.CanonicalHeaderKey(name))
	}
	for name := range header {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "Access-Control-") {
			return fmt.Errorf("the header %s is not in the document", name)
		}
	}
	return nil
}

// checkIntegers refuses numbers that are no int64: no body has others, and the library takes 2^63 for one,
// because it compares as floating point.
func checkIntegers(header http.Header, body []byte) error {
	if !strings.HasPrefix(header.Get("Content-Type"), "application/json") || len(body) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the body is no JSON: %w", err)
		}
		if number, ok := token.(json.Number); ok {
			if _, err := number.Int64(); err != nil {
				return fmt.Errorf("the body has %s, which is no int64", number)
			}
		}
	}
}

func checkNoBody(empty bool, body []byte) error {
	if empty && len(body) > 0 {
		return fmt.Errorf("a body where there must be none: %q", body)
	}
	return nil
}
