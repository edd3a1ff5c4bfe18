package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"animalstore/client"
)

// effect says what a tool may do to the store.
type effect int

const (
	reads   effect = iota // changes nothing
	adds                  // adds a resource without changing existing ones
	changes               // changes existing resources
)

// tool is a tool for assistants and the scope that it requires.
type tool struct {
	definition *sdk.Tool
	scope      client.Scope
	call       func(context.Context, session, json.RawMessage) *sdk.CallToolResult
}

// answer is the result of a tool. It is sent as JSON, and also as a short text for clients that do not show the JSON to
// their model.
type answer interface{ text() string }

// toolSet collects tools and the errors in their definitions.
type toolSet struct {
	tools []tool
	err   error
}

// newTools returns all tools in the order in which a model reads them.
func newTools() ([]tool, error) {
	set := &toolSet{}
	set.addPetTools()
	set.addProfileTools()
	set.addCategoryTools()
	set.addOrderTools()
	set.addEventTools()
	return set.tools, set.err
}

// add adds a tool. Its schemas are derived from the types of its arguments and its answer.
func add[In any, Out answer](
	set *toolSet, name, title string, scope client.Scope, does effect, description string,
	run func(context.Context, session, In) (Out, error),
) {
	input, inputErr := schemaOf[In]()
	output, outputErr := schemaOf[Out]()
	if err := errors.Join(inputErr, outputErr); err != nil {
		set.err = errors.Join(set.err, fmt.Errorf("tool %s: %w", name, err))
		return
	}
	arguments, err := input.Resolve(nil)
	if err != nil {
		set.err = errors.Join(set.err, fmt.Errorf("tool %s: %w", name, err))
		return
	}
	set.tools = append(set.tools, tool{
		definition: &sdk.Tool{
			Name: name, Title: title, Description: description, InputSchema: input, OutputSchema: output,
			Annotations: &sdk.ToolAnnotations{
				ReadOnlyHint: does == reads, DestructiveHint: new(does == changes),
				IdempotentHint: true, // every write has an idempotency key or a version
				OpenWorldHint:  new(false),
			},
		},
		scope: scope,
		call: func(ctx context.Context, s session, raw json.RawMessage) *sdk.CallToolResult {
			var in In
			if err := decodeArguments(raw, arguments, &in); err != nil {
				return errorResult(err)
			}
			out, err := run(ctx, s, in)
			if err != nil {
				return errorResult(err)
			}
			content, err := json.Marshal(out)
			if err != nil {
				return errorResult(err)
			}
			return &sdk.CallToolResult{
				Content:           []sdk.Content{&sdk.TextContent{Text: out.text()}},
				StructuredContent: json.RawMessage(content),
			}
		},
	})
}

// decodeArguments validates the arguments of a call and decodes them into the value that into points to. The
// SDK's own decoder would round integers beyond 2^53. A member that is null counts as absent.
func decodeArguments(raw json.RawMessage, schema *jsonschema.Resolved, into any) error {
	given := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return invalidArguments("must be a JSON object")
		}
	}
	for name, value := range given {
		if value == nil {
			delete(given, name)
		}
	}
	if err := schema.Validate(given); err != nil {
		return invalidArguments("are invalid: " + strings.TrimPrefix(err.Error(), "validating root: "))
	}
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return invalidArguments("are invalid: " + err.Error())
	}
	return nil
}

func invalidArguments(why string) error {
	return &client.Error{Code: client.CodeValidationFailed, Status: 400, Message: "The arguments " + why + "."}
}

// errorResult returns the result of a call that failed. The text is for models. The metadata contains the error code
// for programs.
func errorResult(err error) *sdk.CallToolResult {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		e = &client.Error{Code: client.CodeUnavailable, Status: 503, Message: "The store could not be reached; try again shortly."}
	}
	text := fmt.Sprintf("%s (%s)", e.Message, e.Code)
	if e.RetryAfter > 0 {
		text = fmt.Sprintf("%s Try again in %v. (%s)", e.Message, e.RetryAfter, e.Code)
	}
	return &sdk.CallToolResult{
		IsError: true,
		Content: []sdk.Content{&sdk.TextContent{Text: text}},
		Meta:    sdk.Meta{"animalstore/code": e.Code},
	}
}

// nonNil returns an empty list instead of nil, which would be encoded as null.
func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
