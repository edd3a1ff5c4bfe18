package client_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"animalstore/client"
)

// addPets creates n animals and returns their ids, newest first.
func (s *testService) addPets(n int) (ids []int64) {
	s.t.Helper()
	for i := range n {
		ids = append(ids, s.addPet(fmt.Sprintf("animal %d", i)).ID)
	}
	slices.Reverse(ids)
	s.requests()
	return ids
}

func TestListPetsPageByPage(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ids := s.client(), s.addPets(23)
	var got []int64
	query := client.PetQuery{Status: client.PetAvailable}
	for sizes := []int{20, 3}; len(sizes) > 0; sizes = sizes[1:] {
		pets, next, err := c.ListPets(t.Context(), query)
		if err != nil || len(pets) != sizes[0] || (next == "") != (len(sizes) == 1) {
			t.Fatalf("got %d animals and the cursor %q, %v", len(pets), next, err)
		}
		for _, pet := range pets {
			got = append(got, pet.ID)
		}
		query.Cursor = next
	}
	if !slices.Equal(got, ids) {
		t.Errorf("got %v, want %v", got, ids)
	}
}

func TestPetsIteratesAllPages(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ids := s.client(), s.addPets(7)
	pets := c.Pets(t.Context(), client.PetQuery{Limit: 3})
	for range 2 { // the sequence can be iterated more than once
		var got []int64
		for pet, err := range pets {
			got = append(got, must(pet, err)(t).ID)
		}
		if n := len(s.requests()); !slices.Equal(got, ids) || n != 3 {
			t.Errorf("got %v with %d requests, want %v", got, n, ids)
		}
	}
	for range pets {
		break
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("sent %d requests for one animal", n)
	}
	for range c.Pets(t.Context(), client.PetQuery{}) {
		break
	}
	if sent := s.requests()[0]; sent.address != "/v1/pets?limit=100" {
		t.Errorf("without a limit it requests %s", sent.address)
	}
	for pet, err := range c.Pets(t.Context(), client.PetQuery{Status: client.PetSold}) {
		t.Errorf("got %v, %v from an empty list", pet, err)
	}
}

// A page that is lost is fetched again, but a permanent error ends the iteration.
func TestPetsRetriesFailedPages(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	ids := s.addPets(5)
	s.inject(passThrough, dropRequest, cutResponse, passThrough, respond(403, apiError(403, client.CodeInsufficientScope)))
	var got []int64
	var failures int
	for pet, err := range s.client().Pets(t.Context(), client.PetQuery{Limit: 2}) {
		if err != nil {
			wantCode(t, err, client.CodeInsufficientScope)
			failures++
			continue
		}
		got = append(got, pet.ID)
	}
	if !slices.Equal(got, ids[:4]) || failures != 1 {
		t.Errorf("got %v and %d failures", got, failures)
	}
}

// rewriteLink returns a fault that changes the Link header in the service's response.
func rewriteLink(change func(next string) []string) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		whole := httptest.NewRecorder()
		service.ServeHTTP(whole, r)
		maps.Copy(w.Header(), whole.Header())
		next, _, _ := strings.Cut(strings.TrimPrefix(whole.Header().Get("Link"), "<"), ">")
		w.Header()["Link"] = change(next)
		w.WriteHeader(whole.Code)
		w.Write(whole.Body.Bytes())
	}
}

func TestLinkHeaderVariants(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ids := s.client(), s.addPets(3)
	for _, l := range []struct {
		name   string
		change func(next string) []string
		more   bool
	}{
		{"plain", func(next string) []string { return []string{"<" + next + `>; rel="next"`} }, true},
		{"without quotes", func(next string) []string { return []string{"<" + next + ">;rel=next"} }, true},
		{"in capitals", func(next string) []string { return []string{"<" + next + `>; REL="NEXT"`} }, true},
		{"with two relations", func(next string) []string { return []string{"<" + next + `>; rel="last next"`} }, true},
		{"in the second header", func(next string) []string { return []string{`</v1>; rel="first"`, "<" + next + `>; rel="next"`} }, true},
		{"behind commas", func(next string) []string {
			return []string{`</v1?q=a,b;c>; title="x, <y>; rel=\"z\""; rel="first",, <` + next + `>; title="a;b"; rel="next"`}
		}, true},
		{"relative", func(next string) []string {
			target, _ := url.Parse(next)
			return []string{"<?" + target.RawQuery + `>; rel="next"`}
		}, true},
		{"another relation", func(next string) []string { return []string{"<" + next + `>; rel="prev"; x="next"`} }, false},
		{"a longer relation", func(next string) []string { return []string{"<" + next + `>; rel="next-archive"`} }, false},
		{"no relation", func(next string) []string { return []string{"<" + next + `>`} }, false},
		{"nonsense", func(string) []string { return []string{"", "<", ">", `"`, "<<>;,=;rel"} }, false},
		{"none", func(string) []string { return nil }, false},
	} {
		s.inject(rewriteLink(l.change))
		var got []int64
		for pet, err := range c.Pets(t.Context(), client.PetQuery{Limit: 2}) {
			got = append(got, must(pet, err)(t).ID)
		}
		want := ids[:2]
		if l.more {
			want = ids
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", l.name, got, want)
		}
	}
	for _, link := range []string{`<>; rel="next"`, `</v1/pets>; rel="next"`, `<%zz?cursor=1>; rel="next"`, `</v1/pets?cursor=>; rel="next"`} {
		s.inject(rewriteLink(func(string) []string { return []string{link} }))
		_, _, err := c.ListPets(t.Context(), client.PetQuery{Limit: 2})
		wantCode(t, err, client.CodeUnexpectedAnswer) // if the list ended here without an error, animals would be missing
	}
}

// A link to another host is not followed. All requests go to the base URL, so the other host never receives
// the API key.
func TestPagesStayOnTheBaseURL(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(elsewhere.Close)
	s := newTestService(t)
	ids := s.addPets(3)
	otherHost := rewriteLink(func(next string) []string {
		target, _ := url.Parse(next)
		return []string{"<" + elsewhere.URL + "/v1/pets?" + target.RawQuery + `>; rel="next"`}
	})
	s.inject(otherHost, otherHost)
	var got []int64
	for pet, err := range s.client().Pets(t.Context(), client.PetQuery{Limit: 1}) {
		got = append(got, must(pet, err)(t).ID)
	}
	if !slices.Equal(got, ids) || visits.Load() != 0 {
		t.Errorf("got %v with %d requests to the other host, want %v", got, visits.Load(), ids)
	}
}

// If a page links to itself, the client returns an error instead of fetching the page forever.
func TestRepeatedPageIsAnError(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.addPets(3)
	var first string
	round := rewriteLink(func(next string) []string {
		if first == "" {
			first = next
		}
		return []string{"<" + first + `>; rel="next"`}
	})
	s.inject(round, round, round, round)
	var err error
	for _, err = range s.client().Pets(t.Context(), client.PetQuery{Limit: 1}) {
	}
	wantCode(t, err, client.CodeUnexpectedAnswer)
}
