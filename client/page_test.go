package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"animalstore/client"
)

// page returns a response with one animal. If link is not empty, it is the Link header.
func page(id int, link ...string) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		w.Header()["Link"] = link
		respond(200, fmt.Sprintf(`[{"id":%d}]`, id))(w, r, service)
	}
}

const next = `</v1/pets?cursor=c1>; rel="next"`

func TestPetsIteratesAllPages(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		pets := n.client().Pets(t.Context(), client.PetQuery{})
		for range 2 { // the sequence can be iterated more than once
			n.inject(page(2, next), page(1))
			if got := petIDs(collect(t, pets)); !slices.Equal(got, []int64{2, 1}) {
				t.Errorf("got %v", got)
			}
			if sent := n.requests(); len(sent) != 2 || sent[0].address != "/v1/pets?limit=100" || sent[1].address != "/v1/pets?cursor=c1&limit=100" {
				t.Errorf("sent %+v", sent)
			}
		}
		n.inject(page(2, next)) // no page is fetched that the caller does not need
		for range pets {
			break
		}
	})
}

// A page that is lost is fetched again, but a permanent error ends the iteration.
func TestPetsRetriesFailedPages(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(page(2, next), dropRequest, respond(503, proxyPage), page(1, `<?cursor=c2>; rel="next"`), refuse(403, client.CodeInsufficientScope))
		var got []int64
		var last error
		for pet, err := range n.client().Pets(t.Context(), client.PetQuery{Limit: 1}) {
			if last = err; err == nil {
				got = append(got, pet.ID)
			}
		}
		if wantCode(t, last, client.CodeInsufficientScope); !slices.Equal(got, []int64{2, 1}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestLinkHeaderVariants(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		const target = "<http://animals.example/v1/pets?cursor=c1>"
		for _, l := range []struct {
			name  string
			links []string
			more  bool
		}{
			{"plain", []string{target + `; rel="next"`}, true},
			{"without quotes", []string{target + ";rel=next"}, true},
			{"in capitals", []string{target + `; REL="NEXT"`}, true},
			{"with two relations", []string{target + `; rel="last next"`}, true},
			{"in the second header", []string{`</v1>; rel="first"`, target + `; rel="next"`}, true},
			{"behind commas", []string{`</v1?q=a,b;c>; title="x, <y>; rel=\"z\""; rel="first",, ` + target + `; title="a;b"; rel="next"`}, true},
			{"relative", []string{`<?cursor=c1>; rel="next"`}, true},
			{"another relation", []string{target + `; rel="prev"; x="next"`}, false},
			{"a longer relation", []string{target + `; rel="next-archive"`}, false},
			{"no relation", []string{target}, false},
			{"nonsense", []string{"", "<", ">", `"`, "<<>;,=;rel"}, false},
			{"none", nil, false},
		} {
			n.inject(page(2, l.links...), page(1))
			if got := collect(t, n.client().Pets(t.Context(), client.PetQuery{})); len(got) != map[bool]int{true: 2, false: 1}[l.more] {
				t.Errorf("%s: got %v; a next page was expected: %v", l.name, got, l.more)
			}
		}
		for _, link := range []string{`<>; rel="next"`, `</v1/pets>; rel="next"`, `<%zz?cursor=1>; rel="next"`, `</v1/pets?cursor=>; rel="next"`} {
			n.inject(page(2, link))
			_, _, err := n.client().ListPets(t.Context(), client.PetQuery{})
			wantCode(t, err, client.CodeUnexpectedAnswer) // if the list ended here without an error, animals would be missing
		}
		n.inject(page(2, next), page(1, next)) // a page that links to itself would be fetched forever
		_, err := lastError(n.client().Pets(t.Context(), client.PetQuery{}))
		wantCode(t, err, client.CodeUnexpectedAnswer)
	})
}

// A link to another host is not followed. All requests go to the base URL, so the other host never receives
// the API key.
func TestPagesStayOnTheBaseURL(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		var hosts []string
		record := func(f fault) fault {
			return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
				hosts = append(hosts, r.Host)
				f(w, r, service)
			}
		}
		n.inject(record(page(2, `<https://elsewhere.example/v1/pets?cursor=c1>; rel="next"`)), record(page(1)))
		if got := petIDs(collect(t, n.client().Pets(t.Context(), client.PetQuery{}))); !slices.Equal(got, []int64{2, 1}) || !slices.Equal(hosts, []string{"animals.example", "animals.example"}) {
			t.Errorf("got %v from %v", got, hosts)
		}
	})
}
