package httpapi

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"animalstore/internal/shop"
)

// wantRefusal checks that a body was refused with invalid_json or validation_failed and that the error
// message is one line of plain text.
func wantRefusal(t *testing.T, body []byte, err error) {
	t.Helper()
	e := shop.AsError(err)
	if e.Code != shop.InvalidJSON && e.Code != shop.ValidationFailed {
		t.Fatalf("%q: %v", body, err)
	}
	wantLine(t, e.Message)
}

// wantLine checks that a text can be displayed safely on one line in a log or on a page.
func wantLine(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			t.Fatalf("the text is %q", text)
		}
	}
}

// members decodes a JSON object with the standard library.
func members(t *testing.T, body []byte) (m map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%q was accepted: %v", body, err)
	}
	return m
}

// addAll adds the given bodies to the seed corpus, together with unusual bodies that are useful for
// testing any operation.
func addAll(f *testing.F, bodies ...string) {
	for _, body := range append(bodies, ``, `{}`, `null`, `[]`, `""`, `{"a":{"b":[[[[]]]]}}`, "\xef\xbb\xbf{}", "{\"name\":\"\xff\"}", `{"a":1,"a":1}`, `{} {}`) {
		f.Add([]byte(body))
	}
}

// FuzzPetChange checks that an accepted change contains exactly the members in the body and that its name
// is valid.
func FuzzPetChange(f *testing.F) {
	addAll(f, `{"name":"Rex"}`, `{"categoryId":7.0}`, `{"status":"sold"}`, `{"name":null}`, `{"name":"Rex","categoryId":-1,"status":"pending"}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		change, problems, err := decodePetChange(body)
		if err == nil {
			err = problems.Err()
		}
		if err != nil {
			wantRefusal(t, body, err)
			return
		}
		sent := members(t, body)
		for name, taken := range map[string]bool{"name": change.Name != nil, "categoryId": change.CategoryID != nil, "status": change.Status != nil} {
			if _, was := sent[name]; was != taken {
				t.Fatalf("%q: %s was sent: %v, and accepted: %v", body, name, was, taken)
			}
		}
		if change.Name != nil && shop.TextProblem(*change.Name) != "" {
			t.Fatalf("%q gave the name %q", body, *change.Name)
		}
	})
}

// FuzzCategory checks that an accepted category name is a valid text.
func FuzzCategory(f *testing.F) {
	addAll(f, `{"name":"Dogs"}`, `{"name":" "}`, `{"name":"a\u0000"}`, `{"name":7}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		name, err := decodeCategoryName(body)
		if err != nil {
			wantRefusal(t, body, err)
		} else if shop.TextProblem(name) != "" {
			t.Fatalf("%q gave the name %q", body, name)
		}
	})
}

// FuzzOrder checks that an accepted new order has a valid reference and that an accepted order status is
// valid.
func FuzzOrder(f *testing.F) {
	addAll(f, `{"petId":7}`, `{"petId":7,"reference":"A-1"}`, `{"petId":"7"}`, `{"petId":7,"reference":null}`, `{"status":"approved"}`, `{"status":"lost"}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		order, err := decodeNewOrder(body)
		if err != nil {
			wantRefusal(t, body, err)
		} else if _, given := members(t, body)["reference"]; given && shop.TextProblem(order.Reference) != "" || !given && order.Reference != "" {
			t.Fatalf("%q gave the reference %q", body, order.Reference)
		}
		status, err := decodeOrderStatus(body)
		if err != nil {
			wantRefusal(t, body, err)
		} else if shop.OrderStatusProblem(string(status)) != "" {
			t.Fatalf("%q gave the status %q", body, status)
		}
	})
}

// FuzzKey checks that an accepted new key is valid and that an accepted overlap is within its limits.
func FuzzKey(f *testing.F) {
	addAll(f, `{"name":"partner","scopes":["pets:read"]}`, `{"name":"partner","scopes":["admin","admin"]}`, `{"name":"p","scopes":[]}`,
		`{"name":"p","scopes":["admin"],"expiresAt":"2999-01-31T18:00:00Z"}`, `{"name":"p","scopes":["admin"],"expiresAt":"9999-12-31T23:59:60+14:00"}`,
		`{"overlapSeconds":0}`, `{"overlapSeconds":1e400}`, `{"overlapSeconds":9223372036854775807}`, `{"overlapSeconds":null}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		key, err := decodeNewKey(body, time.Now())
		if err != nil {
			wantRefusal(t, body, err)
		} else if problems := key.Problems(time.Now()).Err(); problems != nil {
			t.Fatalf("%q was accepted: %v", body, problems)
		}
		overlap, err := decodeOverlap(body)
		if err != nil {
			wantRefusal(t, body, err)
		} else if overlap < 0 || overlap > 30*24*time.Hour {
			t.Fatalf("%q gave the overlap %v", body, overlap)
		}
	})
}

// FuzzImport checks that rows have increasing line numbers, that each row's problems fit on one line, and
// that accepted names are valid UTF-8.
func FuzzImport(f *testing.F) {
	f.Add([]byte("{\"name\":\"Rex\",\"categoryId\":1}\n\n{\"name\":\"\"}\r\n[]\n{\"name\":\"a\",\"name\":\"b\"}"))
	f.Add([]byte("\ufeff{\"name\":\"Rex\",\"categoryId\":9007199254740993,\"status\":\"sold\"}"))
	f.Add([]byte("\xff\n\x00\n\"\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		rows, err := decodeImport("application/x-ndjson", body)
		if err != nil {
			wantRefusal(t, body, err)
			return
		}
		last := 0
		for _, row := range rows {
			if row.Line <= last || row.Line > 1+bytes.Count(body, []byte("\n")) {
				t.Fatalf("%q: the line %d follows %d", body, row.Line, last)
			}
			last = row.Line
			wantLine(t, row.Problems.String())
			if len(row.Problems) == 0 && len(row.NewPet.Problems()) == 0 && !utf8.ValidString(row.Name) {
				t.Fatalf("%q: an animal called %q", body, row.Name)
			}
		}
	})
}
