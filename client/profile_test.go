package client_test

import (
	"encoding/json"
	"testing"

	"animalstore/client"
)

// An update says which members to remove. It does not set and remove the same one.
func TestProfileUpdateIsAMergePatch(t *testing.T) {
	for want, update := range map[string]client.ProfileUpdate{
		`{}`:                         {},
		`{"breeds":[],"tags":[]}`:    {Breeds: []string{}, Tags: []string{}},
		`{"color":"red","sex":null}`: {Color: new("red"), Remove: []string{"sex"}},
		`{"traits":{"neutered":null,"vaccinated":true}}`: {Traits: &client.Traits{Vaccinated: new(true)}, Remove: []string{"traits.neutered"}},
		`{"traits":null}`: {Remove: []string{"traits", "traits.neutered"}},
	} {
		got, err := json.Marshal(update)
		if err != nil || string(got) != want {
			t.Errorf("%+v: got %s and %v, want %s", update, got, err, want)
		}
	}
	for _, update := range []client.ProfileUpdate{
		{Color: new("red"), Remove: []string{"color"}},
		{Mixed: new(true), Remove: []string{"mixed.x"}},
		{Traits: &client.Traits{Neutered: new(true)}, Remove: []string{"traits"}},
		{Traits: &client.Traits{Neutered: new(true)}, Remove: []string{"traits.neutered"}},
	} {
		if got, err := json.Marshal(update); err == nil {
			t.Errorf("%+v: got %s, want an error", update, got)
		}
	}
}
