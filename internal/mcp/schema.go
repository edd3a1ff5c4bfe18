package mcp

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"animalstore/client"
)

// limit is the maximum number of items in a list. Lists are short, because a model has to read them.
type limit int

const (
	defaultLimit = 20
	maxLimit     = 50
)

// orDefault returns the limit, or the default if none was given.
func (l limit) orDefault() int {
	if l == 0 {
		return defaultLimit
	}
	return int(l)
}

// petFilter is the id of an animal in a query, or 0 if the query has none. Ids start at 1, so the schema refuses an
// explicit 0, which would otherwise select all orders.
type petFilter int64

// idempotencyKey identifies a write, so that repeating the write changes nothing.
type idempotencyKey string

// version identifies a state of an animal or order. A change names the version on which it is based. The change
// therefore cannot overwrite a later change, and repeating it has no effect. A version is an ETag without its quotes,
// because models tend to lose the quotes.
type version string

func versionOf(etag string) version { return version(strings.Trim(etag, `"`)) }

// condition returns the condition that the resource still has this version.
func (v version) condition() client.Condition { return client.IfMatch(`"` + string(v) + `"`) }

func (v version) text() string { return ", version " + string(v) }

// orderStep is a status that an assistant can set on an order.
type orderStep string

// typeSchemas contains the schemas of types whose values are restricted.
var typeSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[client.PetStatus](): enum(client.PetAvailable, client.PetPending, client.PetSold),
	reflect.TypeFor[client.OrderStatus](): enum(
		client.OrderPlaced, client.OrderApproved, client.OrderDelivered, client.OrderCancelled, client.OrderExpired),
	reflect.TypeFor[client.Sex]():  enum(client.Female, client.Male),
	reflect.TypeFor[client.Size](): enum(client.SizeSmall, client.SizeMedium, client.SizeLarge, client.SizeExtraLarge),
	reflect.TypeFor[removable]():   enum(removables()...),
	reflect.TypeFor[orderStep]():   enum(client.OrderApproved, client.OrderDelivered, client.OrderCancelled),
	reflect.TypeFor[limit]():       {Type: "integer", Minimum: new(1.0), Maximum: new(float64(maxLimit))},
	reflect.TypeFor[petFilter]():   {Type: "integer", Minimum: new(1.0)},
	reflect.TypeFor[idempotencyKey](): {
		Type: "string", MinLength: new(8), MaxLength: new(255), Pattern: "^[ -~]+$",
	},
	reflect.TypeFor[version]():   {Type: "string", Pattern: "^[!#-~]{1,100}$"},
	reflect.TypeFor[time.Time](): {Type: "string", Format: "date-time"},
}

func enum[T ~string](values ...T) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "string"}
	for _, value := range values {
		schema.Enum = append(schema.Enum, string(value))
	}
	return schema
}

// schemaOf returns the schema of a type. A member of the type is required unless its tag says omitempty or
// omitzero.
func schemaOf[T any]() (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: typeSchemas})
	if err != nil {
		return nil, err
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("%s is not a struct", reflect.TypeFor[T]())
	}
	withoutNull(schema)
	return schema, nil
}

// withoutNull removes null from the types of pointers and slices, because null only confuses models and no answer
// contains it.
func withoutNull(schema *jsonschema.Schema) {
	if len(schema.Types) == 2 && schema.Types[0] == "null" {
		schema.Type, schema.Types = schema.Types[1], nil
	}
	for _, member := range schema.Properties {
		withoutNull(member)
	}
	if schema.Items != nil {
		withoutNull(schema.Items)
	}
}
