package staff

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Pages are compressed if the browser accepts it. Responses that may show a secret are not: their length would tell how
// similar the secret is to the other texts.
func TestPagesAreCompressedUnlessTheyContainSecrets(t *testing.T) {
	s := newShop(t)
	for range 50 {
		s.AddPet(t, "Rex", 1, shop.Available)
	}
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	plain, packed := b.with("Accept-Encoding", "identity"), b.with("Accept-Encoding", "gzip")
	want := plain.mustGet("/staff/pets", "Rex")
	got := packed.get("/staff/pets")
	if got.header.Get("Content-Encoding") != "gzip" || got.header.Get("Vary") != "Accept-Encoding" || len(got.body)*5 > len(want.body) {
		t.Errorf("got %d of %d bytes with the headers %v", len(got.body), len(want.body), got.header)
	}
	text := shoptest.Must(io.ReadAll(shoptest.Must(gzip.NewReader(strings.NewReader(got.body)))(t)))(t)
	if n := strings.Count(string(text), `<tr id="pet-`); n != 50 || !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
		t.Errorf("the page has %d animals: %s", n, text)
	}
	for _, response := range []response{
		want,
		packed.withHTMX().get("/staff/pets/counts"), // too short
		packed.post("/staff/people", "name", "till", "role", "staff"),
		s.browser().with("Accept-Encoding", "gzip").get("/staff/sign-in"),
	} {
		if response.header.Get("Content-Encoding") != "" {
			t.Errorf("%s: got the headers %v", response.request, response.header)
		}
	}
}
