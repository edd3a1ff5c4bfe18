package shop

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Two characters fold to the same text if and only if they differ only in case. The result is the smallest of these
// characters. It must not change, because folded texts are stored.
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

// FuzzText checks that a text is accepted if and only if it is valid UTF-8, has at most 200 characters, does not
// consist of spaces only and has no ASCII control characters. It also checks that case folding and JSON encoding are
// correct for any text.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"R", " R ", "\u00a0", "\u0080", "\u2028", "\u202e", "<b>", `a"b\c`, "ZkKsſAz[`{@", strings.Repeat("é", 200),
		"", " ", strings.Repeat(" ", 200), strings.Repeat("é", 201), "\x00", "a\nb", "a\tb", "a\x1f", "a\x7f", "\xff", "a\xc3",
	} {
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
		control := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
		valid := utf8.ValidString(text) && len([]rune(text)) <= 200 && strings.Trim(text, " ") != "" && !control
		if problem := TextProblem(text); (problem == "") != valid {
			t.Fatalf("%q: got the problem %q, want it valid: %v", text, problem, valid)
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
