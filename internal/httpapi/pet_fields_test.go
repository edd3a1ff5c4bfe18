package httpapi

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// Every member of an animal that the OpenAPI document describes is decoded, stored, returned and recorded in
// events. A new field that is forgotten in one of these places fails this test.
func TestEveryPetMemberIsStoredAndReturned(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	documented := func(schema string) []string {
		var names []string
		for _, part := range append(s.checks.Doc.Components.Schemas[schema].Value.AllOf, s.checks.Doc.Components.Schemas[schema]) {
			names = append(names, slices.Collect(maps.Keys(part.Value.Properties))...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	settable := documented("NewPet")
	if got, want := documented("PetChange"), settable; !slices.Equal(got, want) {
		t.Errorf("the document's PetChange has %q, NewPet has %q", got, want)
	}
	if got, want := documented("Pet"), slices.Sorted(slices.Values(append([]string{"id"}, settable...))); !slices.Equal(got, want) {
		t.Errorf("the document's Pet has %q, want id and the members of NewPet: %q", got, want)
	}
	var encoded []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[shop.Pet]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		encoded = append(encoded, name)
	}
	if slices.Sort(encoded); !slices.Equal(encoded, documented("Pet")) {
		t.Errorf("shop.Pet has the JSON members %q, the document has %q", encoded, documented("Pet"))
	}

	first, second := map[string]any{}, map[string]any{}
	for _, name := range settable {
		first[name], second[name] = "first", "second" // for text
	}
	first["categoryId"], second["categoryId"] = 7.0, 8.0
	first["status"], second["status"] = "available", "pending"

	created := s.do("POST", "/v1/pets", toJSON(t, first))
	first["id"], second["id"] = 1.0, 1.0
	changed := s.do("PATCH", "/v1/pets/1", toJSON(t, second))
	stored := s.do("GET", "/v1/pets/1", "")
	for _, c := range []struct {
		name string
		body []byte
		want map[string]any
	}{{"created", created.body, first}, {"changed", changed.body, second}, {"stored", stored.body, second}} {
		if got := fromJSON[map[string]any](t, c.body); !maps.Equal(got, c.want) {
			t.Errorf("the %s animal is %v, want %v", c.name, got, c.want)
		}
	}
	type event struct {
		Data struct{ Current, Previous map[string]any }
	}
	events := fromJSON[[]event](t, s.do("GET", "/v1/events?subject=pets/1", "").body)
	if len(events) != 2 || !maps.Equal(events[0].Data.Current, first) ||
		!maps.Equal(events[1].Data.Previous, first) || !maps.Equal(events[1].Data.Current, second) {
		t.Errorf("the events are %v, want the change from %v to %v", events, first, second)
	}
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func fromJSON[T any](t *testing.T, text []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
