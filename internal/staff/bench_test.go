package staff

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"animalstore/internal/shop"
)

func BenchmarkCatalogue(b *testing.B) {
	s := newShop(b)
	for range 2 * pageSize {
		s.AddPet(b, "Rex", 1, shop.Available)
	}
	pages, err := New(Config{Service: s.Service, Log: s.log()})
	if err != nil {
		b.Fatal(err)
	}
	token, err := s.SignIn(b.Context(), configuredKey)
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequestWithContext(b.Context(), "GET", "/staff/pets", nil)
	r.AddCookie(&http.Cookie{Name: "animalstore_production", Value: token})
	for b.Loop() {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
