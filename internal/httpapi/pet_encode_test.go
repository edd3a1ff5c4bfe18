package httpapi

import (
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"animalstore/internal/shop"
)

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
			want, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if got := encode(value); string(got) != string(want) {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	})
}
