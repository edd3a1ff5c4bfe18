package shop

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

func TestTextProblem(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"R": true, " R ": true, "\u00a0": true, "\u0080": true, "\u2028": true, strings.Repeat("é", 200): true,
		"": false, " ": false, strings.Repeat(" ", 200): false, strings.Repeat("é", 201): false,
		"\x00": false, "a\nb": false, "a\tb": false, "a\x1f": false, "a\x7f": false, "\xff": false, "a\xc3": false,
	} {
		if problem := TextProblem(text); (problem == "") != ok {
			t.Errorf("%q: %q", text, problem)
		}
	}
}

// Two characters fold to the same text if and only if they differ only in case. Stored texts rely on the result,
// which is the least of these characters.
func TestFold(t *testing.T) {
	t.Parallel()
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if other := unicode.SimpleFold(r); Fold(string(r)) != Fold(string(other)) {
			t.Errorf("%q and %q differ only in case but fold differently", r, other)
		}
		if folded := Fold(string(r)); !strings.EqualFold(folded, string(r)) || folded > string(r) {
			t.Errorf("%q folds to another character or not to the least one, %q", r, folded)
		}
	}
}

// FuzzText checks that accepted texts are short and contain no ASCII control characters. It also checks that
// case folding and JSON encoding are correct for any text.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", "Rex", "\x7f", "\xff", strings.Repeat("é", 201), "\u202e", "<b>", `a"b\c`, "ZkKsſAz[`{@"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if folded := Fold(text); !strings.EqualFold(folded, text) || Fold(folded) != folded {
			t.Fatalf("%q folds to %q", text, folded)
		}
		pet := Pet{ID: -7, Name: strings.ToValidUTF8(text, "?"), Status: Sold}
		data := eventData(pet, nil)
		var read struct{ Current, Previous *Pet }
		if err := json.Unmarshal(data, &read); err != nil || *read.Current != pet || read.Previous != nil {
			t.Fatalf("%q is encoded as %s: %v", text, data, err)
		}
		if TextProblem(text) != "" {
			return
		}
		control := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
		if n := len([]rune(text)); n < 1 || n > 200 || strings.Trim(text, " ") == "" || control {
			t.Fatalf("%q is accepted", text)
		}
	})
}

// Every field of Pet is encoded by AppendJSON and set by WithID. PetChange can change every field except the id.
func TestEveryPetFieldIsHandled(t *testing.T) {
	t.Parallel()
	var n NewPet
	for i := range reflect.TypeFor[NewPet]().NumField() {
		switch field := reflect.ValueOf(&n).Elem().Field(i); field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Int64:
			field.SetInt(7)
		default:
			t.Fatalf("extend this test for fields of the type %s", field.Type())
		}
	}
	pet := n.WithID(3)
	for i := range reflect.TypeFor[Pet]().NumField() {
		if reflect.ValueOf(pet).Field(i).IsZero() {
			t.Errorf("NewPet.WithID does not set Pet.%s", reflect.TypeFor[Pet]().Field(i).Name)
		}
	}
	var change PetChange
	for i := range reflect.TypeFor[PetChange]().NumField() {
		field := reflect.TypeFor[PetChange]().Field(i)
		value := reflect.New(field.Type.Elem())
		value.Elem().Set(reflect.ValueOf(n).FieldByName(field.Name))
		reflect.ValueOf(&change).Elem().Field(i).Set(value)
	}
	for what, c := range map[string]struct{ got, want any }{
		"Fields":     {pet.Fields(), n},
		"AppendJSON": {string(pet.AppendJSON(nil)), string(encode(pet))},
		"an event":   {string(pet.created("keys/1").Data), string(eventData(pet, nil))},
		"a change":   {change.apply(Pet{ID: 3}), pet},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %+v, want %+v", what, c.got, c.want)
		}
	}
}
