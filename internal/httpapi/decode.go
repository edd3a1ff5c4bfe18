package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"animalstore/internal/shop"
)

// object is a decoded JSON object. Each of its methods reads one member and adds any problem to problems.
type object struct {
	body     []byte
	members  []member // in the order of the body; there are so few that a search is faster than a map
	problems shop.Problems
}

// member is one member of an object. Both fields are subslices of the body.
type member struct {
	name  jsontext.Value // quoted
	value jsontext.Value
}

// parseObject decodes a body, which must be exactly one JSON object without duplicate names. It fails with invalid_json
// if the body is anything else.
func parseObject(body []byte) (*object, error) {
	if len(body) == 0 {
		return nil, shop.Errorf(shop.InvalidJSON, "The body is empty; send a JSON object.")
	}
	o := &object{body: body}
	if err := json.Unmarshal(body, o); err != nil {
		return nil, shop.Errorf(shop.InvalidJSON, "%s", invalidJSONMessage(body, err))
	}
	return o, nil
}

func (m member) hasName(name string) bool {
	if !bytes.ContainsRune(m.name, '\\') { // true for nearly all names
		return string(m.name[1:len(m.name)-1]) == name
	}
	unquoted, _ := asString(m.name)
	return unquoted == name
}

// errNotObject is the error for JSON that is not an object.
var errNotObject = errors.New("not an object")

// UnmarshalJSONFrom reads the members of an object. It fails if the text is not an object or if a name occurs
// twice.
func (o *object) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	if decoder.PeekKind() != '{' {
		if err := decoder.SkipValue(); err != nil {
			return err // a syntax error, which is more precise than errNotObject
		}
		return errNotObject
	}
	decoder.ReadToken()
	o.members = make([]member, 0, 4)
	for decoder.PeekKind() != '}' {
		name, err := o.readValue(decoder)
		if err != nil {
			return err
		}
		value, err := o.readValue(decoder)
		if err != nil {
			return err
		}
		o.members = append(o.members, member{name, value})
	}
	_, err := decoder.ReadToken()
	return err
}

// readValue reads the next value and returns it as a subslice of the body. It does not return the decoder's own slice,
// because the decoder overwrites that slice on its next read.
func (o *object) readValue(decoder *jsontext.Decoder) (jsontext.Value, error) {
	value, err := decoder.ReadValue()
	end := int(decoder.InputOffset())
	return o.body[end-len(value) : end], err
}

// member returns the value of a member and whether the object has that member.
func (o *object) member(name string) (jsontext.Value, bool) {
	for _, m := range o.members {
		if m.hasName(name) {
			return m.value, true
		}
	}
	return nil, false
}

// parseOptionalObject decodes an object in which all members are optional. In contrast to parseObject, it
// also accepts an empty body.
func parseOptionalObject(body []byte) (*object, error) {
	if len(body) == 0 {
		return &object{}, nil
	}
	return parseObject(body)
}

// invalidJSONMessage explains why a body is not a JSON object. It does not quote the JSON decoder's error
// message.
func invalidJSONMessage(body []byte, err error) string {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return "The body begins with a byte order mark; send JSON without one."
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return "The body has a duplicate member; name each member of an object once."
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("The body is not valid JSON at byte %d; send one JSON object in UTF-8 and nothing after it.",
			syntax.ByteOffset)
	}
	return "The body is JSON but not an object; send a JSON object."
}

// text returns a required member, which must be a string that shop.TextProblem accepts.
func (o *object) text(name string) string {
	value, given := o.member(name)
	if !given {
		o.problems.Add(name, "is required")
		return ""
	}
	text, ok := asString(value)
	if !ok {
		o.problems.Add(name, "must be a string")
	} else if reason := shop.TextProblem(text); reason != "" {
		o.problems.Add(name, reason)
	}
	return text
}

// has reports whether a member is present.
func (o *object) has(name string) bool {
	_, given := o.member(name)
	return given
}

// isNull reports whether a member is present and null.
func (o *object) isNull(name string) bool {
	value, _ := o.member(name)
	return value.Kind() == 'n'
}

// integer returns a required member, which must be a 64-bit integer.
func (o *object) integer(name string) int64 {
	value, given := o.member(name)
	if !given {
		o.problems.Add(name, "is required")
		return 0
	}
	n, ok := asInt64(value)
	if !ok {
		o.problems.Add(name, "must be a 64-bit integer")
	}
	return n
}

// seconds returns an optional member, which must be a whole number of seconds, or preset if the member is
// missing.
func (o *object) seconds(name string, preset time.Duration) time.Duration {
	value, given := o.member(name)
	if !given {
		return preset
	}
	n, ok := asInt64(value)
	if limit := int64(math.MaxInt64 / time.Second); !ok || n < -limit || n > limit {
		o.problems.Add(name, "must be a whole number of seconds")
		return preset
	}
	return time.Duration(n) * time.Second
}

// time returns an optional member, which must be a time in RFC 3339 format, or the zero time if the member
// is missing.
func (o *object) time(name string) time.Time {
	value, given := o.member(name)
	if !given {
		return time.Time{}
	}
	text, _ := asString(value)
	at, ok := parseTime(text)
	if !ok {
		o.problems.Add(name, invalidTime)
	}
	return at
}

// scopes returns a required member, which must be an array of strings. The shop package checks whether
// they are valid scopes.
func (o *object) scopes(name string) []shop.Scope {
	value, given := o.member(name)
	if !given {
		o.problems.Add(name, "is required")
		return nil
	}
	return stringArray[shop.Scope](o, name, value)
}

// stringArray decodes a member's value, which must be an array of strings.
func stringArray[T ~string](o *object, name string, value jsontext.Value) (list []T) {
	if value.Kind() != '[' || json.Unmarshal(value, &list) != nil {
		o.problems.Add(name, "must be an array of strings")
	}
	return list
}

// url returns a required member, which must be a string. The shop package checks whether it is a valid
// URL.
func (o *object) url(name string) string {
	value, given := o.member(name)
	if !given {
		o.problems.Add(name, "is required")
		return ""
	}
	text, ok := asString(value)
	if !ok {
		o.problems.Add(name, "must be a string")
	}
	return text
}

// eventTypes returns an optional member, which must be null or an array of strings. The shop package
// checks whether the strings are valid event types.
func (o *object) eventTypes(name string) []shop.EventType {
	value, given := o.member(name)
	if !given || value.Kind() == 'n' {
		return nil
	}
	return stringArray[shop.EventType](o, name, value)
}

// boolean returns a required member, which must be true or false.
func (o *object) boolean(name string) bool {
	value, _ := o.member(name)
	kind := value.Kind()
	if kind != 't' && kind != 'f' {
		o.problems.Add(name, "must be true or false")
	}
	return kind == 't'
}

// checkedText returns a required member, which must be a string. The problem function describes what is
// wrong with the string, or returns "" if the string is valid.
func (o *object) checkedText(name string, problem func(string) string) string {
	value, given := o.member(name)
	if !given {
		o.problems.Add(name, "is required")
		return ""
	}
	text, _ := asString(value) // a value that is not a string becomes "", which every problem function rejects
	if reason := problem(text); reason != "" {
		o.problems.Add(name, reason)
	}
	return text
}

func asInt64(value jsontext.Value) (int64, bool) {
	if value.Kind() != '0' {
		return 0, false
	}
	return parseJSONInt64(string(value))
}

func asString(value jsontext.Value) (text string, ok bool) {
	if value.Kind() != '"' {
		return "", false
	}
	if !bytes.ContainsRune(value, '\\') {
		return string(value[1 : len(value)-1]), true
	}
	unquoted, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		panic(err) // cannot happen because the decoder has already checked the string
	}
	return string(unquoted), true
}
