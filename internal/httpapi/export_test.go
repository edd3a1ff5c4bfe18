package httpapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// exportPaths maps the path of each export to the header that an import of the same format needs.
var exportPaths = map[string]string{"/v1/exports/pets.csv": asCSV, "/v1/exports/pets.ndjson": ""}

// An exported file can be imported into another shop. The animals are the same except for their ids.
func TestExportCanBeImported(t *testing.T) {
	t.Parallel()
	from := newShop(t)
	statuses := append(shop.Statuses(), "")
	var rows []shop.ImportRow
	for i, name := range []string{"Rex", "=1", "'=1", "''=1", "'Rex", "+", "＝1", `"`, `a "b" c`, " a", "b ", "a,b", "a;b", "🐈"} {
		rows = append(rows, shop.ImportRow{NewPet: shop.NewPet{Name: name, CategoryID: int64(i-7) * 1e18, Status: statuses[i%4]}})
	}
	shoptest.Must(from.Service.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(t)
	from.do("DELETE", "/v1/pets/1", "").want(t, 204, "")
	want := from.do("GET", "/v1/pets?limit=100", "").pets(t)
	for path, header := range exportPaths {
		to := newShop(t)
		file := string(from.do("GET", path, "").body)
		to.do("POST", "/v1/imports", file, header).want(t, 200, fmt.Sprintf(`{"created":%d,"updated":0}`, len(want)))
		got := to.do("GET", "/v1/pets?limit=100", "").pets(t)
		for i := range got {
			got[i].ID++
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", path, got, want)
		}
	}
}

// fill adds animals, each of which takes about 200 bytes in an export.
func (s *testShop) fill(n int) {
	s.t.Helper()
	rows := make([]shop.ImportRow, n)
	for i := range rows {
		rows[i].NewPet = shop.NewPet{Name: strings.Repeat("x", 150) + fmt.Sprint(i), CategoryID: 1}
	}
	shoptest.Must(s.ImportPets(s.t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(s.t)
}

// If animals are added and removed during an export, every animal that was not removed is in the export exactly once.
// Animals that were added after the export began are not in it.
func TestExportDuringChanges(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		const animals = 2500 // an export reads a thousand animals at a time
		s.fill(animals)
		lines := bufio.NewScanner(s.begin(t, "GET /v1/exports/pets.ndjson HTTP/1.1\r\nHost: x\r\n"+keyLine+"\r\n").Body)
		seen := map[int64]bool{}
		for lines.Scan() {
			var pet shop.Pet
			if err := json.Unmarshal(lines.Bytes(), &pet); err != nil || seen[pet.ID] {
				t.Fatalf("%s %v, seen before: %v", lines.Bytes(), err, seen[pet.ID])
			}
			if seen[pet.ID] = true; len(seen) == 1 {
				s.add(`{"name":"late","categoryId":1}`)
				s.do("DELETE", fmt.Sprintf("/v1/pets/%d", animals-1), "").want(t, 204, "")
			}
		}
		delete(seen, animals-1) // this animal was removed during the export
		if err := lines.Err(); err != nil || len(seen) != animals-1 || seen[animals+1] {
			t.Errorf("got %d animals (%v), a late one: %v, want the other %d", len(seen), err, seen[animals+1], animals-1)
		}
	})
}

// failLater lets the given number of accesses to the store succeed and makes all later accesses fail.
func (s *testShop) failLater(reads int64) {
	var n atomic.Int64
	s.Store.FailWith(func(bool) error {
		if n.Add(1) > reads {
			return shop.UnavailableError(errSecret)
		}
		return nil
	})
}

// If an export fails before anything was sent, the client gets an error response. If it fails later, the response is
// cut off.
func TestFailedExportIsCutOff(t *testing.T) {
	s := parallelShop(t)
	s.fill(3000)
	s.failLater(1)
	s.do("GET", "/v1/exports/pets.csv", "").wantError(t, 503, shop.Unavailable)
	s.failLater(3)
	response := s.begin(t, "GET /v1/exports/pets.csv HTTP/1.1\r\nHost: x\r\n"+keyLine+"\r\n")
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != 200 || len(body) == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d, %d bytes, %v", response.StatusCode, len(body), err)
	}
	log := s.log.String()
	if !strings.Contains(log, "level=ERROR msg=request") || !strings.Contains(log, "operation=exportPetsCsv status=200") {
		t.Errorf("the failure is not in the log: %s", log)
	}
	// In HTTP/1.0, closing the connection marks the end of a body. If the body is incomplete, the
	// connection is therefore reset.
	s.failLater(3)
	conn := s.dial(t)
	fmt.Fprintf(conn, "GET /v1/exports/pets.csv HTTP/1.0\r\n%s\r\n", keyLine)
	if answer, err := io.ReadAll(conn); err == nil {
		t.Errorf("an incomplete response of %d bytes looks complete", len(answer))
	}
}

// An export stops when its API key is revoked.
func TestExportStopsWhenItsKeyIsRevoked(t *testing.T) {
	s := parallelShop(t)
	s.fill(2500)
	key := s.Key(t, shop.PetsRead)
	client := s.overPipe(t, "/v1/exports/pets.ndjson", key.Secret)
	client.wantStatus(t, "200")
	shoptest.OK(t, s.RevokeKey(t.Context(), shop.Caller{}, key.ID))
	time.Sleep(keyCheckInterval) // wait until the export must check the key again
	text, _ := io.ReadAll(client)
	<-client.ended
	if n := strings.Count(string(text), `"id":`); n != 1000 {
		t.Errorf("the client got %d animals after its key was revoked, want no more than the thousand that were read before", n)
	}
}

// A node limits the number of exports, in total and per API key. When a client disconnects, another client can
// start an export.
func TestExportsAreLimited(t *testing.T) {
	s := parallelShop(t)
	s.fill(100) // so that an export is too large for the buffers of net/http
	var open []*pipeClient
	limit := admission.Exports.Limit()
	for range limit.Total / limit.PerKey {
		key := s.key(shop.PetsRead)
		for range limit.PerKey {
			client := s.overPipe(t, "/v1/exports/pets.ndjson", key)
			client.wantStatus(t, "200")
			open = append(open, client)
		}
		s.do("GET", "/v1/exports/pets.csv", "", bearing(key)).wantError(t, 429, shop.RateLimited)
	}
	s.do("GET", "/v1/exports/pets.csv", "").wantError(t, 503, shop.Unavailable)
	open[0].Close()
	<-open[0].ended
	s.do("GET", "/v1/exports/pets.csv", "").want(t, 200, "")
}
