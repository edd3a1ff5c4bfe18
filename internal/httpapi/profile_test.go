package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// fullProfile is a change that sets every member. Members that a profile does not have are ignored.
const fullProfile = `{"published":true,"description":"Two\nlines","breeds":["Beagle","Boxer"],"mixed":true,"sex":"female","birthDate":"2020-02-29",` +
	`"birthDateEstimated":false,"size":"extra-large","color":"black","price":{"amount":"250.00","currency":"EUR"},"arrivalDate":"2026-01-31",` +
	`"traits":{"neutered":true,"vaccinated":false,"houseTrained":true,"specialNeeds":false,"goodWithDogs":true,"goodWithCats":false,"goodWithChildren":true},` +
	`"tags":["Calm","big dog"],"contactUrl":"https://example.com/rex","microchip":"276098106123456","location":"Kennel 4","notes":"shy\nat first"`

func TestProfileIsWrittenAndRead(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		s.add(`{"name":"Rex","categoryId":7,"status":"available"}`)
		const pet = `{"pet":{"id":1,"name":"Rex","categoryId":7,"status":"available"},`
		reader, writer := bearing(s.key(shop.PetsRead)), bearing(s.key(shop.PetsRead, shop.PetsWrite))
		s.do("GET", "/v1/pets/1/profile", "", reader).want(t, 200, pet+`"published":false}`)
		written := s.do("PATCH", "/v1/pets/1/profile", fullProfile+`,"pet":{"name":"x"},"updatedAt":"2001-01-01T00:00:00Z","extra":1}`, writer).want(t, 200, "")
		body := strings.TrimSuffix(string(written.body), "\n")
		_, updated, _ := strings.Cut(body, `,"updatedAt":`)
		if body != pet+fullProfile[1:]+`,"updatedAt":`+updated {
			t.Errorf("the profile is %s", body)
		}
		// Each key gets what it may see, with a tag for that.
		seen := s.do("GET", "/v1/pets/1/profile", "", writer).want(t, 200, body)
		public, _, _ := strings.Cut(body, `,"microchip"`)
		public += `,"updatedAt":` + updated
		shown := s.do("GET", "/v1/pets/1/profile", "", reader).want(t, 200, public)
		if written.Header.Get("ETag") != seen.Header.Get("ETag") || seen.Header.Get("ETag") == shown.Header.Get("ETag") {
			t.Errorf("the tags are %s, %s and %s", written.Header.Get("ETag"), seen.Header.Get("ETag"), shown.Header.Get("ETag"))
		}
		s.do("GET", "/v1/pets/1/profile", "", reader, "If-None-Match: "+shown.Header.Get("ETag")).want(t, 304, "")
		s.do("GET", "/v1/profiles", "", reader).want(t, 200, "["+public+"]")
		s.do("GET", "/v1/profiles?id=1", "", writer).want(t, 200, "["+body+"]")
		s.do("PATCH", "/v1/pets/1/profile", `{}`, reader).wantError(t, 403, shop.InsufficientScope)

		// If-Match takes the tag that the key got.
		tag := "If-Match: " + seen.Header.Get("ETag")
		s.do("PATCH", "/v1/pets/1/profile", `{"color":"red"}`, writer, "If-Match: "+shown.Header.Get("ETag")).wantError(t, 412, shop.PreconditionFailed)
		s.do("PATCH", "/v1/pets/1/profile", `{"traits":{"neutered":null,"vaccinated":true},"price":null,"notes":null}`, writer, tag).want(t, 200, "")
		s.do("PATCH", "/v1/pets/1/profile", `{"color":"red"}`, writer, tag).wantError(t, 412, shop.PreconditionFailed)
		got := string(s.do("GET", "/v1/pets/1/profile", "", writer).body)
		if strings.Contains(got, "price") || strings.Contains(got, "notes") || !strings.Contains(got, `"traits":{"vaccinated":true,"houseTrained":true,`) {
			t.Errorf("the changed profile is %s", got)
		}
		s.do("PATCH", "/v1/pets/1/profile", `{"traits":null,"published":false,"description":null,"breeds":[],"mixed":null,"sex":null,"birthDate":null,`+
			`"birthDateEstimated":null,"size":null,"color":null,"arrivalDate":null,"tags":null,"contactUrl":null,"microchip":null,"location":null}`).
			want(t, 200, pet+`"published":false}`)
	})
}

func TestInvalidProfileIsRefused(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":7}`)
	for members, bodies := range map[string][]string{
		"published":   {`{"published":null}`, `{"published":"true"}`, `{"published":1}`},
		"description": {`{"description":""}`, `{"description":7}`, `{"description":"a\tb"}`},
		"breeds":      {`{"breeds":"Beagle"}`, `{"breeds":[1]}`, `{"breeds":["a","b","c"]}`, `{"breeds":[" "]}`},
		"mixed":       {`{"mixed":"yes"}`},
		"sex":         {`{"sex":"Male"}`, `{"sex":""}`},
		"birthDate":   {`{"birthDate":"1899-01-01"}`, `{"birthDate":"01.02.2020"}`, `{"birthDate":2020}`, `{"birthDate":"9999-01-01"}`},
		"price.currency price.amount": {
			`{"price":{}}`, `{"price":{"amount":250,"currency":"Euro"}}`,
		},
		"price":             {`{"price":"250.00 EUR"}`, `{"price":[]}`},
		"price.amount":      {`{"price":{"amount":"1.001","currency":"EUR"}}`, `{"price":{"amount":1,"currency":"EUR"}}`},
		"traits":            {`{"traits":[]}`, `{"traits":"neutered"}`},
		"traits.vaccinated": {`{"traits":{"neutered":true,"vaccinated":"yes","unknown":7}}`},
		"tags":              {`{"tags":["a,b"]}`, `{"tags":[""]}`, `{"tags":{}}`},
		"contactUrl":        {`{"contactUrl":"http://example.com"}`},
		"microchip":         {`{"microchip":"123"}`},
		"sex size color traits.goodWithDogs breeds birthDate tags": {
			`{"birthDate":"9999-01-01","tags":["a,b"],"breeds":["a","b","c"],"sex":1,"size":2,"color":3,"traits":{"goodWithDogs":4}}`,
		},
	} {
		for _, body := range bodies {
			s.wantProblems(t, "PATCH", "/v1/pets/1/profile", body, members)
		}
	}
	s.do("GET", "/v1/pets/1/profile", "").want(t, 200, `{"pet":{"id":1,"name":"Rex","categoryId":7},"published":false}`)
}

func TestProfilesAreListed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		for i := range 9 {
			s.add(fmt.Sprintf(`{"name":"Rex %d","categoryId":%d,"status":%q}`, i+1, i%2, shop.Statuses()[i%3]))
			s.do("PATCH", fmt.Sprintf("/v1/pets/%d/profile", i+1), fmt.Sprintf(`{"published":%v,"sex":%q,"size":%q,"tags":["Even %d","all"],"location":"Kennel %d"}`,
				i > 4, shop.Sexes()[i%2], shop.Sizes()[i%4], i%2, i)).want(t, 200, "")
		}
		s.add(`{"name":"Mia","categoryId":1}`)
		reader, writer := bearing(s.key(shop.PetsRead)), bearing(s.key(shop.PetsRead, shop.PetsWrite))
		for _, c := range []struct{ query, want, asWriter string }{
			{"", "10 9 8 7 6 5 4 3 2 1", ""},
			{"limit=3", "10 9 8 7 6 5 4 3 2 1", ""},
			{"published=true&limit=2", "9 8 7 6", ""},
			{"published=false", "10 5 4 3 2 1", ""},
			{"sex=male", "8 6 4 2", ""},
			{"size=extra-large", "8 4", ""},
			{"tag=even%200%20&limit=2", "9 7 5 3 1", ""},
			{"tag=even+0&tag=ALL&tag=even+1", "", ""},
			{"tag=even+0&tag=ALL&published=true&limit=1", "9 7", ""},
			{"status=sold&sex=male", "6", ""},
			{"categoryId=1&limit=2", "10 8 6 4 2", ""},
			{"id=1&id=8&id=99&published=true", "8", ""},
			{"q=rex+even", "9 8 7 6 5 4 3 2 1", ""},
			{"q=rex+even&sex=female&limit=2", "9 7 5 3 1", ""},
			{"q=kennel", "", "9 8 7 6 5 4 3 2 1"},
		} {
			for _, key := range []string{reader, writer} {
				want := c.want
				if key == writer && c.asWriter != "" {
					want = c.asWriter
				}
				s.wantProfiles(t, "/v1/profiles?"+c.query, want, key)
			}
		}
		for _, query := range []string{"published=yes", "published=true&published=true", "sex=F", "size=huge", "tag=a,b", "tag=", "q=", "limit=0",
			strings.Repeat("tag=a&", 21), "status=gone", "id=x"} {
			s.do("GET", "/v1/profiles?"+query, "").wantError(t, 400, shop.InvalidParameter)
		}
		s.do("GET", "/v1/profiles?cursor=x", "").wantError(t, 400, shop.InvalidCursor)
	})
}

// wantProfiles reads all pages of profiles and checks the ids of their animals. The pages have tags.
func (s *testShop) wantProfiles(t *testing.T, path, want, key string) {
	t.Helper()
	var seen []string
	for next := path; next != ""; {
		page := s.do("GET", next, "", key).want(t, 200, "")
		for _, p := range parsed[[]struct{ Pet shop.Pet }](t, page) {
			seen = append(seen, fmt.Sprint(p.Pet.ID))
		}
		s.do("GET", next, "", key, "If-None-Match: "+page.Header.Get("ETag")).want(t, 304, "")
		next = page.link("next")
	}
	if !slices.Equal(seen, strings.Fields(want)) {
		t.Errorf("%s: saw %v, want %s", path, seen, want)
	}
}
