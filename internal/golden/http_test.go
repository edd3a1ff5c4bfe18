package golden

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"
)

// area is a part of the API that has its own transcript. Each transcript is recorded from a new service with
// a new database.
type area struct {
	name         string
	unconfigured bool // if true, the service starts without a configured key
	flags        []string
	// prepare creates the database. If it is nil, the service creates the database.
	prepare func(t *testing.T, database string)
	record  func(s *session)
}

// TestHTTP compares transcripts of the HTTP API with the golden files. Both engines must produce the same
// transcripts.
func TestHTTP(t *testing.T) {
	t.Parallel()
	var files []string
	t.Run("areas", func(t *testing.T) {
		for _, area := range areas {
			files = append(files, area.name+".txt")
			t.Run(area.name, func(t *testing.T) {
				t.Parallel()
				for i, engine := range engines {
					t.Run(engine.name, func(t *testing.T) {
						s := newSession(t, engine, area)
						area.record(s)
						check(t, "http/"+area.name+".txt", s.transcript.String(), *update && i == 0)
					})
				}
			})
		}
	})
	checkFiles(t, "http", files)
	t.Run("complete", checkComplete)
}

// TestOpenAPI compares the OpenAPI document, without its prose and examples, with a golden file.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := newSession(t, engines[0], area{})
	document := programtest.Decode[any](t, s.do("GET openapi.json").body)
	withoutProse(document)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	shoptest.OK(t, encoder.Encode(document))
	check(t, "openapi.json", text.String(), *update)
}

// withoutProse removes all descriptions, summaries and examples from a decoded JSON document.
func withoutProse(value any) {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(name string, member any) bool {
			_, isText := member.(string)
			return isText && (name == "description" || name == "summary") || name == "example" || name == "examples"
		})
		for _, member := range value {
			withoutProse(member)
		}
	case []any:
		for _, element := range value {
			withoutProse(element)
		}
	}
}

// notFrozen lists the error codes that cannot be caused reliably by sending requests. They need not be in the
// transcripts.
var notFrozen = []string{"idempotency_key_in_use", "internal_error", "unavailable"}

// checkComplete checks that the transcripts contain every error code and at least one successful request for
// every operation.
func checkComplete(t *testing.T) {
	s := newSession(t, engines[0], area{})
	document := programtest.Decode[struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct {
			Schemas struct {
				ErrorCode struct {
					Values []string `json:"x-extensible-enum"`
				}
			}
		}
	}](t, s.do("GET openapi.json").body)
	var transcripts strings.Builder
	for _, area := range areas {
		transcripts.Write(shoptest.Must(os.ReadFile(filepath.Join("testdata", "http", area.name+".txt")))(t))
	}
	operations := 0
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for method, operation := range document.Paths[path] {
			if operation.OperationID == "" {
				continue
			}
			operations++
			pattern := regexp.MustCompile(`\\\{[a-zA-Z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `-?[0-9]+`)
			succeeded := regexp.MustCompile(`(?m)^>>> ` + strings.ToUpper(method) + ` /v1` + pattern + `(?:\?.*)?\n(?:[^<].*\n|\n)*<<< 2`)
			if !succeeded.MatchString(transcripts.String()) {
				t.Errorf("%s %s is missing from the transcripts", method, path)
			}
		}
	}
	codes := document.Components.Schemas.ErrorCode.Values
	if operations < 30 || len(codes) < 20 {
		t.Errorf("the document has %d operations and %d codes", operations, len(codes))
	}
	for _, code := range codes {
		if !slices.Contains(notFrozen, code) && !strings.Contains(transcripts.String(), `{"code":"`+code+`"`) {
			t.Errorf("%s is missing from the transcripts", code)
		}
	}
}
