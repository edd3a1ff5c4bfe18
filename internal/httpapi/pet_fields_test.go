package httpapi

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"pgregory.net/rapid"

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
	settable, encoded := documented("NewPet"), []string{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[shop.Pet]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		encoded = append(encoded, name)
	}
	slices.Sort(encoded)
	all := slices.Sorted(slices.Values(append([]string{"id"}, settable...)))
	if !slices.Equal(documented("PetChange"), settable) || !slices.Equal(documented("Pet"), all) || !slices.Equal(encoded, all) {
		t.Errorf("the document has NewPet %q, PetChange %q and Pet %q; shop.Pet has %q",
			settable, documented("PetChange"), documented("Pet"), encoded)
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
	events := fromJSON[[]struct {
		Data struct{ Current, Previous map[string]any }
	}](t, s.do("GET", "/v1/events?subject=pets/1", "").body)
	if len(events) != 2 {
		t.Fatalf("the events are %v, want two", events)
	}
	for what, c := range map[string]struct{ got, want map[string]any }{
		"created":          {fromJSON[map[string]any](t, created.body), first},
		"changed":          {fromJSON[map[string]any](t, changed.body), second},
		"stored":           {fromJSON[map[string]any](t, stored.body), second},
		"first event's":    {events[0].Data.Current, first},
		"second event's":   {events[1].Data.Current, second},
		"event's previous": {events[1].Data.Previous, first},
	} {
		if !maps.Equal(c.got, c.want) {
			t.Errorf("the %s animal is %v, want %v", what, c.got, c.want)
		}
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
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// The hand-written JSON encoding for animals is identical to the output of json.Marshal.
func TestEncodedPetsMatchJSONMarshal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pets := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) shop.Pet {
			return shop.Pet{
				ID: rapid.Int64().Draw(t, "id"), Name: rapid.String().Draw(t, "name"), CategoryID: rapid.Int64().Draw(t, "category"),
				Status: rapid.SampledFrom(append(shop.Statuses(), "")).Draw(t, "status"),
			}
		}), 0, 3).Draw(t, "pets")
		for _, value := range []any{pets, shop.Pet{Name: "\u2028<&>\"\\\x00\x7f😀"}} {
			want, err := jsonv2.Marshal(value)
			if got := encode(value); err != nil || string(got) != string(want) {
				t.Fatalf("got %s, want %s (%v)", got, want, err)
			}
		}
	})
}
