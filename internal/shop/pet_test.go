package shop

import (
	"reflect"
	"testing"
)

// Every field of Pet is encoded by AppendJSON and can be set by WithID. Every field except the id can be
// changed by PetChange.
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
