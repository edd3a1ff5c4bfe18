package staff

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func (b *browser) openLive(path string) *bufio.Scanner {
	b.t.Helper()
	r := b.request("GET", path)
	maps.Copy(r.Header, b.header)
	got := shoptest.Must(b.client.Do(r))(b.t)
	b.t.Cleanup(func() { got.Body.Close() })
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("got %d %v", got.StatusCode, got.Header)
	}
	return bufio.NewScanner(got.Body)
}

// readUntil reads a live stream until all of the topics have been received.
func readUntil(t *testing.T, stream *bufio.Scanner, topics ...string) {
	t.Helper()
	var seen []string
	for slices.ContainsFunc(topics, func(topic string) bool { return !slices.Contains(seen, topic) }) {
		if !stream.Scan() {
			t.Fatalf("the stream ended with %q, want %q: %v", seen, topics, stream.Err())
		}
		if data, ok := strings.CutPrefix(stream.Text(), "data: "); ok {
			seen = append(seen, strings.Fields(data)...)
		}
	}
}

// waitForFeed waits until the service has read all events into its event feed.
func (s *testShop) waitForFeed() {
	s.t.Helper()
	last, err := s.LastEvent(s.t.Context())
	for position := int64(0); err == nil && position < last; {
		added, before := s.EventSignal(), position
		if _, position, err = s.EventsAfter(s.t.Context(), shop.Caller{}, shop.EventFilter{}, before); position == before {
			<-added
		}
	}
	shoptest.OK(s.t, err)
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
	pet := s.addOrderedPet("Rex")
	readUntil(t, some, "pets-created", "pets", "category-1", "pet-1")
	readUntil(t, all, "pets-created", "order-1", "orders", "orders-placed", "pet-1")
	last := shoptest.Must(s.LastEvent(t.Context()))(t)
	// A page that reconnects continues at its last position. A page that has missed too many changes refreshes
	// everything.
	readUntil(t, b.with("Last-Event-ID", fmt.Sprint(last-1)).openLive("/staff/live?after=0"), "pet-1")
	rows := slices.Repeat([]shop.ImportRow{{NewPet: shop.NewPet{Name: "many", CategoryID: 1}}}, maxLiveTopics)
	shoptest.Must(s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(t)
	for i := range rows {
		shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, pet.ID+int64(i), shop.PetChange{Name: new("more")}, nil))(t)
	}
	s.waitForFeed()
	readUntil(t, b.openLive("/staff/live?after=0"), "everything")
	shoptest.OK(t, s.RevokeKey(t.Context(), shop.Caller{}, key.ID))
	readUntil(t, some, "ended")
	if some.Scan(); some.Scan() {
		t.Errorf("the stream continues with %q", some.Text())
	}
}

// A page that is far behind is told to refresh everything, because the service would otherwise have to read too many
// events.
func TestLivePageFarBehindRefreshesEverything(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	rows := slices.Repeat([]shop.ImportRow{{NewPet: shop.NewPet{Name: "many", CategoryID: 1}}}, 100*maxLiveReads+1)
	if _, err := s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	stream := s.signedIn(configuredKey).openLive("/staff/live?after=0")
	for stream.Scan() {
		if data, ok := strings.CutPrefix(stream.Text(), "data: "); ok {
			if data != "everything" {
				t.Errorf("got the topics %q, want everything", data)
			}
			return
		}
	}
	t.Fatalf("the stream ended: %v", stream.Err())
}
