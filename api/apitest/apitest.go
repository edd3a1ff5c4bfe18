// Package apitest validates responses against the OpenAPI document. It is stricter than the OpenAPI library
// that it uses, and than the document, which leaves room for values and members of later versions: a response may have only
// those that the document lists.
package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Validator validates responses against one OpenAPI document.
type Validator struct {
	Doc     *openapi3.T
	Common  openapi3.Headers // the headers that every response may have
	router  routers.Router
	schemas *schemas
	// OnResponse, if set, is called for each checked response whose operation and status are in the document.
	OnResponse func(operation string, status int)
	// OnHeader, if set, is called for each valid header of a response. ref is the document's reference to the
	// description of the header.
	OnHeader func(ref string)
}

// New returns a validator for a document in YAML or JSON. Requests are matched against the document's list of
// servers.
func New(document []byte) (*Validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, err
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	common, err := commonHeaders(doc)
	if err != nil {
		return nil, err
	}
	schemas, err := newSchemas(doc, common)
	return &Validator{Doc: doc, router: router, Common: common, schemas: schemas}, err
}

// commonHeaders returns the headers that every response may have, which the document lists only once.
func commonHeaders(doc *openapi3.T) (headers openapi3.Headers, err error) {
	text, err := json.Marshal(doc.Extensions["x-common-headers"])
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &headers); err != nil {
		return nil, fmt.Errorf("x-common-headers: %w", err)
	}
	for name, header := range headers {
		header.Ref = "#/x-common-headers/" + name // for OnHeader; there is nothing to resolve
	}
	return headers, nil
}

// Check returns an error if a response does not match the document. It rejects an undocumented status or header, a
// missing header, and an invalid body. A HEAD request is checked like a GET request. A response to an undocumented
// path or method must match the Error schema. The document describes a successful response to OPTIONS only in prose,
// so only the names of its headers are checked.
func (v *Validator) Check(req *http.Request, status int, header http.Header, body []byte) error {
	if req.Method == http.MethodOptions && status < 400 {
		return v.checkProse(header)
	}
	found, err := v.findResponse(req, status)
	if err != nil {
		return err
	}
	response := v.withCommonHeaders(found)
	empty := req.Method == http.MethodHead || len(response.Content) == 0
	return errors.Join(
		checkHeaderNames(response, header),
		checkIntegers(header, body),
		checkNoBody(empty, body),
		v.checkHeaders(response, header),
		v.checkBody(response, header, body, empty || isStream(response, header) || isNDJSON(response, header)),
		v.checkNDJSON(response, header, body),
	)
}

// isNDJSON reports whether the response is NDJSON and the document allows it. The library does not support
// this media type.
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
		return fmt.Errorf("the last line of %q has no newline", body)
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if err := v.checkExportedPet(line); err != nil {
			return err
		}
	}
	return nil
}

// checkExportedPet checks one line of an NDJSON export. The line is a Pet with an additional etag member. If the Pet's
// category has a name, the line also has a category member. If the export contains profiles, it has the members of the
// Profile, too. The document can describe these lines only in prose.
func (v *Validator) checkExportedPet(line []byte) error {
	var extra struct {
		ETag     string  `json:"etag"`
		Category *string `json:"category"`
	}
	members := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(line, &extra), json.Unmarshal(line, &members)); err != nil {
		return fmt.Errorf("the line %s: %w", line, err)
	}
	if !strings.HasPrefix(extra.ETag, `"`) || !strings.HasSuffix(extra.ETag, `"`) || extra.Category != nil && *extra.Category == "" {
		return fmt.Errorf("the line %s has a wrong etag or category", line)
	}
	profile := map[string]any{}
	_, included := members["published"]
	for name, value := range members {
		switch {
		case name == "etag" || name == "category" || included && name == "profileEtag":
			delete(members, name)
		case included && !slices.Contains([]string{"id", "name", "categoryId", "status"}, name):
			profile[name] = value
			delete(members, name)
		}
	}
	pet, err := json.Marshal(members)
	if err = errors.Join(err, v.CheckSchema("Pet", pet)); err != nil || !included {
		return err
	}
	profile["pet"] = members
	text, err := json.Marshal(profile)
	return errors.Join(err, v.CheckSchema("Profile", text))
}

// isStream reports whether the response is an event stream and the document allows it. A stream is endless,
// so the code that reads it must check each event with CheckSchema.
func isStream(response *openapi3.Response, header http.Header) bool {
	return header.Get("Content-Type") == eventStream && response.Content[eventStream] != nil
}

const eventStream = "text/event-stream"

// CheckSchema returns an error if a JSON value does not match the named schema in the document.
func (v *Validator) CheckSchema(name string, value []byte) error {
	schema := v.Doc.Components.Schemas[name]
	if schema == nil {
		return fmt.Errorf("the document has no schema %s", name)
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("%q is not valid JSON: %w", value, err)
	}
	return errors.Join(
		checkIntegers(http.Header{"Content-Type": {"application/json"}}, value),
		v.schemas.check(schema.Value, decoded),
	)
}

// findResponse returns the response that the document describes for a request and a status.
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
		return nil, fmt.Errorf("%s %s responded with %d: %w", req.Method, req.URL, status, err)
	}
	response := route.Operation.Responses.Status(status)
	if response == nil {
		return nil, fmt.Errorf("%s has no documented response %d", route.Operation.OperationID, status)
	}
	if v.OnResponse != nil {
		v.OnResponse(route.Operation.OperationID, status)
	}
	return response.Value, nil
}

// withCommonHeaders returns a response with the headers that every response may have besides its own.
func (v *Validator) withCommonHeaders(response *openapi3.Response) *openapi3.Response {
	all := *response
	all.Headers = maps.Clone(v.Common)
	if all.Headers == nil {
		all.Headers = openapi3.Headers{}
	}
	maps.Copy(all.Headers, response.Headers)
	return &all
}

// commonError returns the error response that any path and method, documented or not, may send with this status.
// It returns nil if there is no such response.
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
		allow := openapi3.Parameter{Required: true}
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

// checkHeaders rejects missing and invalid headers.
func (v *Validator) checkHeaders(response *openapi3.Response, header http.Header) error {
	var problems []error
	for name, documented := range response.Headers {
		values := header.Values(name)
		schema := documented.Value.Schema
		switch {
		case len(values) == 0 && documented.Value.Required:
			problems = append(problems, fmt.Errorf("the header %s is missing", name))
		case len(values) > 0 && schema != nil:
			var value any = strings.Join(values, ", ")
			if schema.Value.Type.Is("integer") {
				value = json.Number(values[0])
			}
			if err := v.schemas.check(schema.Value, value); err != nil {
				problems = append(problems, fmt.Errorf("the header %s is %q: %w", name, values, err))
			} else if v.OnHeader != nil {
				v.OnHeader(documented.Ref)
			}
		}
	}
	return errors.Join(problems...)
}

// checkBody rejects a body that has an undocumented type or does not match its schema.
func (v *Validator) checkBody(response *openapi3.Response, header http.Header, body []byte, skip bool) error {
	if skip {
		return nil
	}
	contentType := header.Get("Content-Type")
	media := response.Content.Get(contentType)
	if media == nil {
		return fmt.Errorf("the type %q is not in the document", contentType)
	}
	if media.Schema == nil {
		return nil
	}
	var decoded any = string(body)
	var err error
	switch name, _, _ := strings.Cut(contentType, ";"); name {
	case "application/json":
		decoded, err = jsonschema.UnmarshalJSON(bytes.NewReader(body))
	case "application/yaml":
		err = yaml.Unmarshal(body, &decoded)
	}
	if err != nil {
		return fmt.Errorf("the body is not valid: %w", err)
	}
	return v.schemas.check(media.Schema.Value, decoded)
}

// framing lists headers that a response may have even though the document does not describe them as headers. OpenAPI
// describes Content-Type in another place, and the other two concern only the transport.
var framing = []string{"Content-Length", "Content-Type", "Date"}

// checkHeaderNames rejects headers that the document does not describe for the response.
func checkHeaderNames(response *openapi3.Response, header http.Header) error {
	known := slices.Clone(framing)
	for name := range response.Headers {
		known = append(known, http.CanonicalHeaderKey(name))
	}
	for name := range header {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the header %s is not in the document", name)
		}
	}
	return nil
}

// checkProse rejects headers that the document's general description does not mention.
func (v *Validator) checkProse(header http.Header) error {
	prose := strings.ToLower(v.Doc.Info.Description)
	for name := range header {
		mention := "`" + strings.ToLower(name)
		if !slices.Contains(framing, name) && !strings.Contains(prose, mention+"`") && !strings.Contains(prose, mention+": ") {
			return fmt.Errorf("the description does not mention the header %s", name)
		}
	}
	return nil
}

// checkIntegers rejects numbers that do not fit in an int64. The library compares floating-point numbers and
// would accept 2^63.
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
			return fmt.Errorf("the body is not valid JSON: %w", err)
		}
		if number, ok := token.(json.Number); ok {
			if _, err := number.Int64(); err != nil {
				return fmt.Errorf("the body contains %s, which is not an int64", number)
			}
		}
	}
}

func checkNoBody(empty bool, body []byte) error {
	if empty && len(body) > 0 {
		return fmt.Errorf("unexpected body: %q", body)
	}
	return nil
}
