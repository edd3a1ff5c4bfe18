package httpapi

import (
	"slices"

	"github.com/go-json-experiment/json"

	"animalstore/internal/shop"
)

// encode is the one way from a value to its JSON.
func encode(value any) []byte {
	switch value := value.(type) {
	case shop.Pet:
		return encodePet(value)
	case []shop.Pet:
		return appendPets(nil, value)
	}
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // our own types always encode
	}
	return body
}

// encodePet is encode for an animal, without a copy of it to begin with.
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

// withNewline ends a body as a line of text, for those who read it on a terminal. The body must be nobody else's.
func withNewline(body []byte) []byte { return append(body, '\n') }
