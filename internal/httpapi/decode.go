package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"animalstore/internal/shop"
)

// maxBody is how large the body of a request may be.
const maxBody = 64 << 10

// bodyTimeout is how long a client may take to send a body.
const bodyTimeout = 30 * time.Second

// bodyRule is what a route asks of a body.
type bodyRule struct {
	types  []string // the media types that it takes
	what   string   // they are, in words
	typed  bool     // one of them must be named; else none at all is taken for the right one
	most   int64    // bytes
	within time.Duration
}

// readBody reads the whole body of a request, which must be of a type that its route takes.
func (c *call) readBody() (err error) {
	rule := c.route.body
	if !rule.takes(c.r.Header) {
		return shop.Errorf(shop.UnsupportedMediaType, "The body must be %s; send it with Content-Type: %s.", rule.what, strings.Join(rule.types, " or "))
	}
	if c.r.ContentLength > rule.most {
		return rule.errTooLarge() // without asking for any of it
	}
	control := http.NewResponseController(c.w)
	control.SetReadDeadline(time.Now().Add(rule.within)) // what has no deadline needs none
	c.body, err = io.ReadAll(http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, rule.most))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return rule.errTooLarge()
	}
	if err != nil {
		return shop.Errorf(shop.InvalidJSON, "The body broke off before its end; send all of it.")
	}
	control.SetReadDeadline(time.Time{})
	c.w.BodyRead()
	return nil
}

func (rule *bodyRule) errTooLarge() error {
	return shop.Errorf(shop.PayloadTooLarge, "The body is too large; send at most %d bytes.", rule.most)
}

// takes tells whether the headers announce one of the media types, as it is and not compressed. A text is UTF-8.
func (rule *bodyRule) takes(h http.Header) bool {
	for _, coding := range h.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	switch types := h.Values("Content-Type"); {
	case len(types) == 0, len(types) == 1 && types[0] == "":
		return !rule.typed
	case len(types) == 1:
		mediaType, parameters, err := mime.ParseMediaType(types[0])
		charset := strings.ToLower(parameters["charset"])
		return err == nil && slices.Contains(rule.types, mediaType) &&
			(mediaType != "text/csv" || slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, charset))
	default:
		return false
	}
}

// object is a JSON object whose members are read one by one. It collects what is wrong with them.
type object struct {
	members  map[string]jsontext.Value
	problems shop.Problems
}

// parseObject reads a body that must be one JSON object, strictly.
func parseObject(body []byte) (*object, error) {
	if len(body) == 0 {
		return nil, shop.Errorf(shop.InvalidJSON, "The body is empty; send a JSON object.")
	}
	o := &object{}
	err := json.Unmarshal(body, &o.members)
	if err != nil || o.members == nil { // null leaves the map as it is
		return nil, shop.Errorf(shop.InvalidJSON, "%s", whyInvalid(body, err))
	}
	return o, nil
}

// parseOptionalObject is parseObject for a body whose members are all optional: there need not be one at all.
func parseOptionalObject(body []byte) (*object, error) {
	if len(body) == 0 {
		return &object{}, nil
	}
	return parseObject(body)
}

// whyInvalid says why a body was refused, without the decoder's own words.
func whyInvalid(body []byte, err error) string {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return "The body begins with a byte order mark; send JSON without one."
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return "The body names a member twice; name each member of an object once."
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("The body is not valid JSON at byte %d; send one JSON object in UTF-8 and nothing after it.", syntax.ByteOffset)
	}
	return "The body is JSON but no object; send a JSON object."
}

// text returns a member that must be there and be a text.
func (o *object) text(name string) string {
	value, given := o.members[name]
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

// has tells whether a member was sent.
func (o *object) has(name string) bool {
	_, given := o.members[name]
	return given
}

// integer returns a member that must be there and be an integer of 64 bits.
func (o *object) integer(name string) int64 {
	value, given := o.members[name]
	if !given {
		o.problems.Add(name, "is required")
		return 0
	}
	n, ok := asInt64(value)
	if !ok {
		o.problems.Add(name, "must be an integer of 64 bits")
	}
	return n
}

// seconds returns a member that may be missing and must else be a whole number of seconds.
func (o *object) seconds(name string, preset time.Duration) time.Duration {
	value, given := o.members[name]
	if !given {
		return preset
	}
	n, ok := asInt64(value)
	if most := int64(math.MaxInt64 / time.Second); !ok || n < -most || n > most {
		o.problems.Add(name, "must be a whole number of seconds")
		return preset
	}
	return time.Duration(n) * time.Second
}

// rfc3339 is what a time looks like; time.Parse takes more than that.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$`)

// time returns a member that may be missing and must else be a time as RFC 3339 writes it.
func (o *object) time(name string) time.Time {
	value, given := o.members[name]
	if !given {
		return time.Time{}
	}
	text, _ := asString(value)
	at, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	if err != nil || !rfc3339.MatchString(text) || at.IsZero() { // the zero time stands for none everywhere else
		o.problems.Add(name, "must be a time such as 2027-01-31T18:00:00Z")
	}
	return at
}

// scopes returns a member that must be there and be an array of scopes.
func (o *object) scopes(name string) []shop.Scope {
	value, given := o.members[name]
	if !given {
		o.problems.Add(name, "is required")
		return nil
	}
	return words[shop.Scope](o, name, value)
}

// words reads a member that must be an array of strings.
func words[T ~string](o *object, name string, value jsontext.Value) (list []T) {
	if value.Kind() != '[' || json.Unmarshal(value, &list) != nil {
		o.problems.Add(name, "must be an array of strings")
	}
	return list
}

// address returns a member that must be there and be a string; what is an address, the shop says.
func (o *object) address(name string) string {
	value, given := o.members[name]
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

// eventTypes returns a member that may be missing or null, which is none of them, and must else be an array of types.
func (o *object) eventTypes(name string) []shop.EventType {
	value, given := o.members[name]
	if !given || value.Kind() == 'n' {
		return nil
	}
	return words[shop.EventType](o, name, value)
}

// boolean returns a member that must be true or false.
func (o *object) boolean(name string) bool {
	value, _ := o.members[name]
	kind := value.Kind()
	if kind != 't' && kind != 'f' {
		o.problems.Add(name, "must be true or false")
	}
	return kind == 't'
}

// oneOf returns a member that must be there and be a text in which problem finds nothing wrong.
func (o *object) oneOf(name string, problem func(string) string) string {
	value, given := o.members[name]
	if !given {
		o.problems.Add(name, "is required")
		return ""
	}
	text, _ := asString(value) // what is no string is an empty one, which is no status either
	if reason := problem(text); reason != "" {
		o.problems.Add(name, reason)
	}
	return text
}

func asInt64(value jsontext.Value) (int64, bool) {
	if value.Kind() != '0' {
		return 0, false
	}
	return exactInt64(string(value))
}

func asString(value jsontext.Value) (text string, ok bool) {
	if value.Kind() != '"' {
		return "", false
	}
	unquoted, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		panic(err) // the decoder has checked the string
	}
	return string(unquoted), true
}
