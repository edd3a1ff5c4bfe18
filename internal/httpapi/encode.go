package httpapi

import (
	"slices"

	"github.com/go-json-experiment/json"

	"animalstore/internal/shop"
)

// encode returns the JSON encoding of a value. All JSON that the API sends is encoded here.
//
// Animals have a hand-written encoder, because most responses are lists of animals. A test checks that its
// output is identical to the output of json.Marshal.
func encode(value any) []byte {
	switch value := value.(type) {
	case shop.Pet:
		return encodePet(value)
	case []shop.Pet:
		return appendPets(nil, value)
	case shop.Profile:
		return value.AppendJSON(nil)
	case shop.Photo:
		return value.AppendJSON(nil)
	}
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot happen because all types in package shop can be encoded
	}
	return body
}

func encodePet(pet shop.Pet) []byte { return pet.AppendJSON(make([]byte, 0, 128)) }

func appendPets(body []byte, pets []shop.Pet) []byte {
	body = append(slices.Grow(body, 100*len(pets)+2), '[')
	for i, pet := range pets {
		if i > 0 {
			body = append(body, ',')
		}
		body = pet.AppendJSON(body)
	}
	return append(body, ']')
}

// withNewline appends a newline for people who read the response in a terminal. It may overwrite the
// memory after body, so the caller must own the slice.
func withNewline(body []byte) []byte { return append(body, '\n') }
