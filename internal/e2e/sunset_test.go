package e2e

import (
	"fmt"
	"slices"
	"testing"
)

const removalLinks = `</v1/openapi.yaml>; rel="deprecation"; type="application/yaml", ` +
	`</v1/openapi.yaml>; rel="sunset"; type="application/yaml", </v1/pets>; rel="successor-version"`

// TestGetPetIsRemovedOnItsSunsetDate runs the service on the last day on which the deprecated operation works
// and on two later days.
func TestGetPetIsRemovedOnItsSunsetDate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		date     string
		location string // the format of the Location header for a new animal
		removed  bool
	}{
		{"2030-12-04", "/v1/pets/%d", false},
		{"2030-12-05", "/v1/pets?id=%d", true},
		{"2099-01-01", "/v1/pets?id=%d", true},
	}
	for _, test := range tests {
		t.Run(test.date, func(t *testing.T) {
			t.Parallel()
			p := newFolderWithKey(t).serve("--api-date", test.date)
			created, a := p.create(pet{Name: "Rex", CategoryID: 1})
			location := a.header.Get("Location")
			if want := fmt.Sprintf(test.location, created.ID); location != want {
				t.Fatalf("Location: got %q, want %q", location, want)
			}
			followed := p.get(location)
			if test.removed {
				if got := decode[[]pet](t, followed.body); !slices.Equal(got, []pet{created}) {
					t.Errorf("GET %s: got %+v, want %+v", location, got, created)
				}
			} else if got := decode[pet](t, followed.body); got != created {
				t.Errorf("GET %s: got %+v, want %+v", location, got, created)
			}

			a = p.send("GET", fmt.Sprintf("/v1/pets/%d", created.ID), adminKey, "")
			if test.removed {
				expectError(t, a, 410, "operation_removed")
			} else {
				expectStatus(t, a, 200)
			}
			expectHeader(t, a, "Deprecation", "@1794700800")
			expectHeader(t, a, "Sunset", "Thu, 05 Dec 2030 00:00:00 GMT")
			expectHeader(t, a, "Link", removalLinks)
		})
	}
}
