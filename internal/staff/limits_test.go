package staff

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// acquire counts n operations of a principal towards a limit.
func (s *testShop) acquire(kind admission.Kind, principal shop.Principal, n int) (release func()) {
	s.t.Helper()
	slot := shoptest.Must(s.pages.Limits.AcquireN(kind, principal.Actor(), n))(s.t)
	return slot.Release
}

// wantKeyBusy checks that the response is an error page that says that the user's key has used up its share.
func (r response) wantKeyBusy(text string) {
	r.t.Helper()
	r.want(429, "Too much at once", text).contains("<html")
	if after := r.header.Get("Retry-After"); after != "1" {
		r.t.Errorf("%s: got Retry-After %q, want 1", r.request, after)
	}
}

// greedy opens a shop for a test in which one key uses up its share of a limit. It returns the principal of that
// key, a browser that is signed in with it, and a browser that is signed in with another key.
func greedy(t *testing.T) (s *testShop, principal shop.Principal, own, another *browser) {
	t.Helper()
	s = newShop(t)
	key := s.Key(t, shop.PetsRead, shop.OrdersRead)
	principal = shoptest.Must(s.Authenticate(t.Context(), key.Secret))(t)
	return s, principal, s.signedIn(key.Secret), s.signedIn(configuredKey)
}

func TestRequestsPerKeyAreLimited(t *testing.T) {
	t.Parallel()
	s, principal, own, another := greedy(t)
	release := s.acquire(admission.PageRequests, principal, admission.PageRequests.Limit().PerKey)
	own.get("/staff/pets").wantKeyBusy("Too many of your pages are loading")
	another.mustGet("/staff/pets")
	s.browser().mustGet("/staff/sign-in")
	release()
	own.mustGet("/staff/pets")
}

// The requests of users who are not signed in have a limit of their own.
func TestStrangersDoNotKeepStaffOut(t *testing.T) {
	t.Parallel()
	s, _, own, another := greedy(t)
	release := s.acquire(admission.PublicRequests, shop.Principal{}, admission.PublicRequests.Limit().Total)
	s.browser().get("/staff/sign-in").want(503, "The pages are busy")
	own.mustGet("/staff/pets")
	another.mustGet("/staff/pets")
	release()
	s.browser().mustGet("/staff/sign-in")
}

func TestPrintedListsAreLimited(t *testing.T) {
	t.Parallel()
	s, principal, own, another := greedy(t)
	lists := admission.PrintedLists.Limit()
	lists.KeyQueue = 0 // lists that would wait are refused instead
	s.pages.Limits.Replace(admission.PrintedLists, lists)
	release := s.acquire(admission.PrintedLists, principal, lists.PerKey)
	for _, path := range []string{"/staff/pets/print", "/staff/orders/print"} {
		own.get(path).wantKeyBusy("Other lists are already being prepared")
		another.mustGet(path)
	}
	own.mustGet("/staff/pets")
	release()
	release = s.acquire(admission.Exports, principal, admission.Exports.Limit().PerKey)
	own.get("/staff/pets/print").wantKeyBusy("Other lists are already being prepared")
	release()
	for range admission.Exports.Limit().Total + 1 { // a list that has been sent no longer counts towards the limit
		own.mustGet("/staff/pets/print")
		own.mustGet("/staff/orders/print")
	}
}

// If one key requests many lists for printing, these lists are produced one after another, and other keys are not
// delayed. If a browser disconnects, its request stops waiting.
func TestPrintedListsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	s, principal, own, another := greedy(t)
	for _, path := range []string{"/staff/pets/print", "/staff/orders/print"} {
		done := s.acquire(admission.PrintedLists, principal, 1)
		waiting, disconnect := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if response, err := own.client.Do(own.request("GET", path).WithContext(waiting)); err == nil {
			response.Body.Close()
			t.Errorf("%s: got status %d before it was the key's turn", path, response.StatusCode)
		}
		disconnect()
		another.mustGet(path)
		own.mustGet("/staff/pets")
		done()
		own.mustGet(path)
	}
}

// While a page is being rendered, its memory counts towards the key's share of the limit. Rendering stops as soon as
// this share is used up. The memory of the error page that is shown instead does not count.
func TestPagesBeingRenderedCountAsBodies(t *testing.T) {
	t.Parallel()
	s, principal, own, another := greedy(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	release := s.acquire(admission.BodyMemory, principal, admission.BodyMemory.Limit().PerKey)
	for _, path := range []string{"/staff/pets", "/staff/pets?name=" + strings.Repeat("'", 10_000)} {
		own.get(path).wantKeyBusy("Too many of your pages are loading")
	}
	another.mustGet("/staff/pets", "Rex")
	release()
	own.mustGet("/staff/pets", "Rex")
}

// A form is refused for want of memory only before it is handled. After that, its response is sent, whatever its size.
func TestFormsAreNotRefusedAfterTheChange(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := s.Key(t, shop.PetsRead, shop.PetsWrite)
	principal := shoptest.Must(s.Authenticate(t.Context(), key.Secret))(t)
	b := s.signedIn(key.Secret).withHTMX()
	fields := []string{"do", "pending"}
	for range maxBulk {
		fields = append(fields, "pet", petToken(s.AddPet(t, strings.Repeat("'", 200), 1, shop.Available)))
	}
	before := shoptest.Must(s.Inventory(t.Context()))(t)
	most := admission.BodyMemory.Limit().PerKey
	const form = 16 << 10 // more than the form needs
	release := s.acquire(admission.BodyMemory, principal, most-form)
	if got := b.post("/staff/pets/bulk", fields...).want(200).header.Get("HX-Trigger"); !strings.Contains(got, "Too many of your pages are loading") {
		t.Errorf("without memory for the response: got the message %s", got)
	}
	if after := shoptest.Must(s.Inventory(t.Context()))(t); after != before {
		t.Errorf("the refused form has changed %+v to %+v", before, after)
	}
	release()
	release = s.acquire(admission.BodyMemory, principal, most-form-maxAnswer)
	if got := b.post("/staff/pets/bulk", fields...).want(200, "100 animals changed"); len(got.body) <= maxAnswer+form {
		t.Errorf("the response has only %d bytes, so this test proves nothing", len(got.body))
	}
	release()
	s.acquire(admission.BodyMemory, principal, most)() // all memory has been released
}

func TestPageBufferHoldsWhatItNeeds(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("0123456789", 50_000))
	memory := admission.NewSemaphore(admission.Limit{Total: 600_000})
	held := func() int {
		held, _ := memory.Counts()
		return held
	}
	b := &pageBuffer{hold: func(size int64) (admission.Slot, error) { return memory.AcquireN("", int(size)) }}
	for _, part := range [][]byte{text[:1], text[1:100], text[100:100_000], text[100_000:]} {
		if n, err := b.Write(part); n != len(part) || err != nil {
			t.Fatalf("got %d, %v, want %d", n, err, len(part))
		}
	}
	if got := bytes.Join(b.chunks, nil); !bytes.Equal(got, text) || b.size != len(text) || held()-b.size > maxPageChunk {
		t.Errorf("got %d bytes, size %d, held %d; want the %d bytes that were written and little more held", len(got), b.size, held(), len(text))
	}
	if n, err := b.Write(text); err == nil || n == len(text) || held() > 600_000 {
		t.Errorf("got %d, %v with %d bytes held, want an error", n, err, held())
	}
	if b.release(); held() != 0 {
		t.Errorf("%d bytes are still held", held())
	}
	free := newFreePage()
	if _, err := free.Write(text); err == nil {
		t.Error("a page that does not count has no limit")
	}
}
