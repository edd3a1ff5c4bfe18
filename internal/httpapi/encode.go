package httpapi

import (
	"slices"

	"github.com/go-json-experiment/json"

	"animalstore/internal/shop"
)

// encode returns the JSON of a value. All JSON of the API is encoded here.
//
// Animals are encoded by hand, because lists of them are most of the traffic. A test compares every byte
// with json.Marshal.
func encode(value any) []byte {
	switch value := value.(type) {
	case shop.Pet:
		return encodePet(value)
	case []shop.Pet:
		return appendPets(nil, value)
	}
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // the types of the shop can always be encoded
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

// withNewline appends a newline, for people who read the response in a terminal. The caller must own the body.
func withNewline(body []byte) []byte { return append(body, '\n') }
