package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"animalstore/client"
)

// page returns a response with one animal and these Link headers.
func page(id int, links ...string) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		w.Header()["Link"] = links
		respond(200, fmt.Sprintf(`[{"id":%d}]`, id))(w, r, service)
	}
}

// A page that is lost is fetched again, but a permanent error ends the iteration.
func TestPetsIteratesAllPages(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		pets := n.client().Pets(t.Context(), client.PetQuery{})
		for range 2 { // the sequence can be iterated more than once
			n.inject(page(2, next), page(1))
			wantEqual(t, "animals", collect(t, pets), []client.Pet{{ID: 2}, {ID: 1}})
			sent := n.requests()
			wantEqual(t, "first page", sent[0].address, "/v1/pets?limit=100")
			wantEqual(t, "second page", sent[1].address, "/v1/pets?cursor=c1&limit=100")
		}
		n.inject(page(2, next)) // pages that the caller does not need are not fetched
		for range pets {
			break
		}
		last := page(1, `<?cursor=c2>; rel="next"`)
		n.inject(page(2, next), dropRequest, respond(503, proxyPage), last, refuse(403, client.CodeInsufficientScope))
		got, err := lastError(pets)
		wantCode(t, err, client.CodeInsufficientScope)
		wantEqual(t, "animals before the error", got, 2)
	})
}

func TestLinkHeaderVariants(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		const target = "<http://animals.example/v1/pets?cursor=c1>"
		for _, l := range []struct {
			name  string
			links []string
			pages int
		}{
			{"without quotes", []string{target + ";rel=next"}, 2},
			{"in capitals", []string{target + `; REL="NEXT"`}, 2},
			{"with two relations", []string{target + `; rel="last next"`}, 2},
			{"in the second header", []string{`</v1>; rel="first"`, target + `; rel="next"`}, 2},
			{"behind commas", []string{`</v1?q=a,b;c>; title="x, <y>"; rel="first",, ` + target + `; title="a;b"; rel="next"`}, 2},
			{"another relation", []string{target + `; rel="prev"; x="next"`}, 1},
			{"a longer relation", []string{target + `; rel="next-archive"`}, 1},
			{"nonsense", []string{"", "<", ">", `"`, "<<>;,=;rel"}, 1},
		} {
			n.inject(page(2, l.links...), page(1))
			wantEqual(t, l.name+": pages", len(collect(t, n.client().Pets(t.Context(), client.PetQuery{}))), l.pages)
		}
		for _, link := range []string{`<>; rel="next"`, `<%zz?cursor=1>; rel="next"`, `</v1/pets?cursor=>; rel="next"`} {
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
		n.inject(page(2, `<https://elsewhere.example/v1/pets?cursor=c1>; rel="next"`), page(1))
		wantEqual(t, "animals", collect(t, n.client().Pets(t.Context(), client.PetQuery{})), []client.Pet{{ID: 2}, {ID: 1}})
		for _, r := range n.requests() {
			wantEqual(t, "host", r.host, "animals.example")
		}
	})
}
