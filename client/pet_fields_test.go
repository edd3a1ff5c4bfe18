package client_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"animalstore/client"
	"animalstore/internal/shop"
)

// The client's types have every JSON member of an animal that the service sends or accepts.
func TestClientKnowsEveryPetMember(t *testing.T) {
	t.Parallel()
	members := func(of reflect.Type) (names []string) {
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
				names = append(names, name)
			}
		}
		return names
	}
	sent := members(reflect.TypeFor[shop.Pet]())
	if got := members(reflect.TypeFor[client.Pet]()); !slices.Equal(got, sent) {
		t.Errorf("client.Pet has %q, the service sends %q", got, sent)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[client.NewPet](), reflect.TypeFor[client.PetUpdate]()} {
		if got, want := members(of), sent[1:]; !slices.Equal(got, want) { // all members except the id
			t.Errorf("%s has %q, the service accepts %q", of, got, want)
		}
	}
}
