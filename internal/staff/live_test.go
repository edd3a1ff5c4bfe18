package staff

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/shop"
)

// liveReader reads messages from a live stream.
type liveReader struct {
	t     testing.TB
	lines *bufio.Scanner
}

func (b *browser) openLive(path string, header ...string) *liveReader {
	b.t.Helper()
	r := b.request("GET", path)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { got.Body.Close() })
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("got %d %v", got.StatusCode, got.Header)
	}
	return &liveReader{b.t, bufio.NewScanner(got.Body)}
}

// until reads the stream until all of the topics have been received.
func (f *liveReader) until(topics ...string) {
	f.t.Helper()
	missing := map[string]bool{}
	for _, topic := range topics {
		missing[topic] = true
	}
	for len(missing) > 0 {
		if !f.lines.Scan() {
			f.t.Fatalf("the stream ended without %v: %v", missing, f.lines.Err())
		}
		if data, ok := strings.CutPrefix(f.lines.Text(), "data: "); ok {
			for topic := range strings.FieldsSeq(data) {
				delete(missing, topic)
			}
		}
	}
}

// waitForFeed waits until the service has read all events that it streams.
func (s *testShop) waitForFeed() {
	s.t.Helper()
	last, err := s.LastEvent(s.t.Context())
	for position := int64(0); err == nil && position < last; {
		added, before := s.EventSignal(), position
		if _, position, err = s.EventsAfter(s.t.Context(), shop.EventFilter{}, before); position == before {
			<-added
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestLiveStreamNamesWhatTheKeyMaySee(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var working sync.WaitGroup
	working.Go(func() { s.RunJobs(t.Context(), func(err error) { t.Log(err) }) })
	t.Cleanup(working.Wait)
	key := s.Key(t, shop.PetsRead, shop.PetsWrite)
	b := s.signedIn(key.Secret)
	all := s.signedIn(configuredKey).openLive("/staff/live")
	some := b.openLive("/staff/live")
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	some.until("pets-created", "pets", "category-1")
	if _, err := s.PlaceOrder(t.Context(), shop.NewOrder{PetID: pet.ID}); err != nil {
		t.Fatal(err)
	}
	some.until("pet-1")
	all.until("pets-created", "order-1", "orders", "orders-placed", "pet-1")
	last, err := s.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A reconnecting page continues at its last position. A page that has missed too many changes refreshes
	// everything.
	b.openLive("/staff/live?after=0", "Last-Event-ID", fmt.Sprint(last-1)).until("pet-1")
	rows := slices.Repeat([]shop.ImportRow{{NewPet: shop.NewPet{Name: "many", CategoryID: 1}}}, maxLiveTopics)
	if _, err := s.ImportPets(t.Context(), rows, false); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		name := "more"
		if _, err := s.UpdatePet(t.Context(), pet.ID+int64(i), shop.PetChange{Name: &name}, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.waitForFeed()
	b.openLive("/staff/live?after=0").until("everything")
	if err := s.RevokeKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	some.until("ended")
	if some.lines.Scan(); some.lines.Scan() {
		t.Errorf("the stream continues with %q", some.lines.Text())
	}
}
