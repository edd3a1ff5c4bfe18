package httpapi

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// With include=profile, an export has the columns and members of profiles. Only a key that may change profiles sees what is
// internal, and the tag that an import needs.
func TestExportContainsProfiles(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		s.do("PUT", "/v1/categories/1", `{"name":"Dogs"}`).want(t, 201, "")
		pet, photos := s.addPhotos(2)
		s.add(`{"name":"Mia","categoryId":2}`)
		plain := map[string]string{}
		for path := range exportPaths {
			plain[path] = string(s.do("GET", path, "").body)
		}
		s.do("PATCH", fmt.Sprintf("/v1/pets/%d/profile", pet.ID), fullProfile+"}").want(t, 200, "")
		reader, writer := bearing(s.key(shop.PetsRead)), bearing(s.key(shop.PetsRead, shop.PetsWrite))
		const header = "id,name,categoryId,status,etag,category,published,description,breed,secondBreed,mixed,sex,birthDate,birthDateEstimated,size,color,price," +
			"currency,arrivalDate,neutered,vaccinated,houseTrained,specialNeeds,goodWithDogs,goodWithCats,goodWithChildren,tags,contactUrl,photo"
		const cells = `yes|Two` + "\n" + `lines|Beagle|Boxer|yes|female|2020-02-29|no|extra-large|black|250.00|EUR|2026-01-31|yes|no|yes|no|yes|no|yes|Calm,big dog|https://example.com/rex|`
		shown := string(s.do("GET", fmt.Sprintf("/v1/pets/%d/profile", pet.ID), "", writer).body)
		members := shown[strings.Index(shown, `"published"`):strings.LastIndex(shown, "}")]
		tag := regexp.MustCompile(`,"profileEtag":"\\"[0-9a-f]{32}\\""`)
		for key, internal := range map[string]bool{reader: false, writer: true} {
			table := string(s.do("GET", "/v1/exports/pets.csv?include=profile", "", key).want(t, 200, "").body)
			lines := string(s.do("GET", "/v1/exports/pets.ndjson?include=profile", "", key).want(t, 200, "").body)
			records, err := csv.NewReader(strings.NewReader(table)).ReadAll()
			if err != nil || len(records) != 3 {
				t.Fatalf("got %s %v", table, err)
			}
			wantHeader, wantRex, wantMia, wantMembers := header, cells+photos[0].URLs["large"], "no"+strings.Repeat("|", 22), members
			if internal {
				wantHeader += ",microchip,location,notes,profileEtag"
				wantRex += "|276098106123456|Kennel 4|shy\nat first|" + records[1][32]
				wantMia += strings.Repeat("|", 4) + records[2][32]
			} else {
				wantMembers = strings.Replace(members, `"microchip":"276098106123456","location":"Kennel 4","notes":"shy\nat first",`, "", 1)
			}
			if got := strings.Join(records[0], ","); got != wantHeader {
				t.Errorf("the columns are %s, want %s", got, wantHeader)
			}
			if rex, mia := strings.Join(records[1][6:], "|"), strings.Join(records[2][6:], "|"); rex != wantRex || mia != wantMia {
				t.Errorf("the cells are\n%s\n%s\nwant\n%s\n%s", rex, mia, wantRex, wantMia)
			}
			if !strings.Contains(lines, members[:50]) || strings.Contains(lines, "profileEtag") != internal {
				t.Errorf("the lines are %s", lines)
			}
			whole := strings.SplitAfter(plain["/v1/exports/pets.ndjson"], "\n")
			want := strings.TrimSuffix(whole[0], "}\n") + "," + wantMembers + "}\n" + strings.TrimSuffix(whole[1], "}\n") + `,"published":false}` + "\n"
			if got := tag.ReplaceAllString(lines, ""); got != want {
				t.Errorf("the lines are\n%s\nwant\n%s", got, want)
			}
		}
		for path, want := range plain { // the profile does not change it
			if got := string(s.do("GET", path, "").body); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
			}
			for _, query := range []string{"include=", "include=profiles", "include=profile&include=profile"} {
				s.do("GET", path+"?"+query, "").wantError(t, 400, shop.InvalidParameter)
			}
			s.do("HEAD", path+"?include=profile", "").want(t, 200, "")
		}
	})
}

// An exported file with profiles changes nothing if it is imported again, and makes the same animals and profiles in an
// empty shop.
func TestExportedProfilesCanBeImported(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		pet, _ := s.addPhotos(1)
		s.do("PATCH", fmt.Sprintf("/v1/pets/%d/profile", pet.ID), fullProfile+"}").want(t, 200, "")
		for i, profile := range []string{
			`{}`, `{"published":true}`, `{"description":"- a\n- b\n\n","notes":"=1+1;-2","color":"-","breeds":["-","'-"],"location":"\"x\""}`,
			`{"traits":{"neutered":false},"price":{"amount":"0","currency":"JPY"},"tags":["=1","-","+ 2"],"mixed":false}`,
		} {
			s.add(fmt.Sprintf(`{"name":"Animal %d","categoryId":%d,"status":"sold"}`, i, i))
			s.do("PATCH", fmt.Sprintf("/v1/pets/%d/profile", i+2), profile).want(t, 200, "")
		}
		events := len(s.eventLines(t, 0))
		for path, header := range exportPaths {
			file := string(s.do("GET", path+"?include=profile", "").body)
			s.do("POST", "/v1/imports?mode=upsert", file, header).want(t, 200, `{"created":0,"updated":0}`)
			other := newShop(t)
			other.do("POST", "/v1/imports", file, header).want(t, 200, `{"created":5,"updated":0}`)
			if want, got := writable(t, s), writable(t, other); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
			}
		}
		if after := s.eventLines(t, 0); len(after) != events {
			t.Errorf("there are new events: %v", after[events:])
		}
	})
}

var readOnly = regexp.MustCompile(`,"photos":\[[^]]*\]|,"updatedAt":"[^"]*"`)

// writable returns all profiles without the members that an import does not write.
func writable(t *testing.T, s *testShop) string {
	t.Helper()
	return readOnly.ReplaceAllString(string(s.do("GET", "/v1/profiles?limit=100", "").want(t, 200, "").body), "")
}

// An edited export changes only the profiles that were edited. A repeated request changes nothing, and an old file is
// refused, unless only animals were reserved since and the file does not describe them.
func TestProfilesCanBeEditedInAFile(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		for _, name := range []string{"Rex", "Mia"} {
			s.add(`{"name":"` + name + `","categoryId":1,"status":"available"}`)
		}
		s.do("PATCH", "/v1/pets/1/profile", fullProfile+"}").want(t, 200, "")
		file := string(s.do("GET", "/v1/exports/pets.ndjson?include=profile", "").body)
		tag := regexp.MustCompile(`"profileEtag":"[^}]*`).FindString(file)
		edited := strings.Replace(file, `"color":"black"`, `"color":"red","price":null,"breeds":["Pug"]`, 1)
		edited = strings.Replace(edited, `"price":{"amount":"250.00","currency":"EUR"},`, "", 1)
		edited = strings.Replace(edited, `"breeds":["Beagle","Boxer"],`, "", 1)
		for _, replayed := range []string{"", "true"} {
			got := s.do("POST", "/v1/imports?mode=upsert", edited, "", "Idempotency-Key: a").want(t, 200, `{"created":0,"updated":1}`)
			got.wantHeaders(t, "Idempotency-Replayed: "+replayed)
		}
		s.wantProfiles(t, "/v1/profiles?q=red+pug", "1", bearing(adminKey))
		got := s.do("POST", "/v1/imports?mode=upsert", edited, "").wantError(t, 400, shop.ValidationFailed).message(t)
		if want := "Nothing was imported because a row is not valid: line 1: profileEtag is out of date, because the profile of animal 1 has changed since; export it again."; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		s.do("POST", "/v1/store/orders", `{"petId":2}`).want(t, 201, "")
		empty := regexp.MustCompile(`"profileEtag":"[^}]*`).FindAllString(file, 2)[1]
		s.do("POST", "/v1/imports?mode=upsert", `{"id":2,`+empty+`,"sex":"female"}`, "").want(t, 200, `{"created":0,"updated":1}`)
		s.do("GET", "/v1/pets?id=2", "").want(t, 200, `[{"id":2,"name":"Mia","categoryId":1,"status":"pending"}]`)
		s.do("GET", "/v1/pets/2/profile?", "").want(t, 200, "")
		// The problems of a line are named by its members.
		got = s.do("POST", "/v1/imports?mode=upsert", `{"id":1,`+tag+`,"traits":{"neutered":"yes"},"price":{"amount":5},"sex":"f","published":null}`, "").
			wantError(t, 400, shop.ValidationFailed).message(t)
		for _, member := range []string{"line 1: ", "traits.neutered", "price.amount", "price.currency", "sex", "published"} {
			if !strings.Contains(got, member) {
				t.Errorf("the message lacks %s: %s", member, got)
			}
		}
	})
}
