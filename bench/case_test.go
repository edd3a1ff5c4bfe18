package bench

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"testing"
	"time"
)

// benchCase is one kind of load.
type benchCase struct {
	name string
	turn func(t *testing.T, s *subject, turn int) (sample, error)
	bare func(t *testing.T, service *subject) http.Handler // makes the bare handler for this load; nil if there is none
}

// allCases returns every case, in the order in which they run on the same store. The cases that write come last.
func allCases() []benchCase {
	list := request{method: "GET", path: "/v1/pets?status=available&limit=20"}
	get := request{method: "GET", path: fmt.Sprintf("/v1/pets/%d", animals/2)}
	random := request{method: "GET", path: list.path + "&cursor=" + placeholder, parts: randomCursors()}
	search := request{method: "GET", path: "/v1/pets?limit=20&q=zebrafinch&cursor=" + placeholder, parts: random.parts}
	create := request{method: "POST", path: "/v1/pets", body: `{"name":"Newcomer ` + placeholder + `","categoryId":7,"status":"available"}`,
		parts: func(int) []string { return parts(10_000, func(i int) string { return fmt.Sprintf("%05d", i) }) }}
	createOnce := request{method: "POST", path: "/v1/pets", body: `{"name":"Newcomer","categoryId":7,"status":"available"}`, idempotencyKey: placeholder,
		parts: func(int) []string { return parts(100_000, func(int) string { return rand.Text() }) }}
	order := request{method: "POST", path: "/v1/store/orders", body: `{"petId":` + placeholder + `}`, parts: unorderedAnimals}
	return []benchCase{
		{"list", list.load, replay(list)},
		{"list, random cursors", random.load, replay(random)},
		{"get", get.load, replay(get)},
		{"search", search.load, nil},
		{"list beside 100 creates a second", beside(list, create, 100), nil},
		{"create", writeTurn(create), respondWith(create, newPet)},
		{"create with an idempotency key", writeTurn(createOnce), respondWith(createOnce, newPet)},
		{"place orders", writeTurn(order), respondWith(order, newOrder)},
		{"import", importTurn, nil},
	}
}

func parts(n int, part func(i int) string) []string {
	made := make([]string, n)
	for i := range made {
		made[i] = part(i)
	}
	return made
}

// unorderedAnimals returns the ids of available animals that no other turn orders.
func unorderedAnimals(turn int) []string {
	share := animals / 10 * 8 / (*pairs + 1)
	return parts(share, func(i int) string { return fmt.Sprintf("%6d", availableID(turn*share+i)) })
}

// randomCursors returns cursors for random positions in a list. None of them is near the end, so every page is full.
func randomCursors() func(int) []string {
	cursors := parts(50_000, func(int) string { return formatCursor(100 + mathrand.Int64N(animals-100)) })
	return func(int) []string { return cursors }
}

// formatCursor encodes a position as the service does: with the sign bit flipped, in Crockford's base32.
func formatCursor(position int64) string {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	n := uint64(position) ^ 1<<63
	var text [13]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = digits[n&31]
		n >>= 5
	}
	return string(text[:])
}

// beside measures one load while another one goes on at an even pace.
func beside(measured, other request, pace int) func(*testing.T, *subject, int) (sample, error) {
	other.pace = pace
	return func(t *testing.T, s *subject, turn int) (sample, error) {
		failed := make(chan error)
		go func() {
			_, err := other.loadFor(s, turn, turnLength()+time.Second)
			failed <- err
		}()
		time.Sleep(time.Second / 2) // the other load begins before the measured one and ends after it
		got, err := measured.load(t, s, turn)
		if otherErr := <-failed; err == nil {
			err = otherErr
		}
		return got, err
	}
}

// writeTurn measures a load that writes. It then waits until the background work that the writes left has been done, so that
// this does not disturb the next turn, which may be that of the other version. Version 1.1 begins it after two seconds.
func writeTurn(r request) func(*testing.T, *subject, int) (sample, error) {
	return func(t *testing.T, s *subject, turn int) (sample, error) {
		got, err := r.load(t, s, turn)
		if s.name != bare {
			time.Sleep(3 * time.Second)
			s.awaitIndex(t)
		}
		return got, err
	}
}

// importTurn measures the import of a file with the import command.
func importTurn(t *testing.T, s *subject, _ int) (sample, error) {
	const n = 50_000
	file := rows(n)
	began := time.Now()
	s.importFile(t, file)
	took := time.Since(began)
	s.awaitIndex(t)
	return sample{perSecond: n / took.Seconds()}, nil
}
