package staff

import (
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// Many changes of one kind by one person are one line, which can be opened. Other changes, those of another person and those
// of another hour stay apart.
func TestManyChangesOfOneKindAreOneLine(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for range 10 {
		s.AddPet(t, "Budgie", 1, shop.Available)
	}
	s.Clock.Forward(time.Hour)
	for id := range int64(10) {
		shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, id+1, shop.PetChange{CategoryID: new(int64(2))}, nil))(t)
	}
	shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, 1, shop.PetChange{Status: new(shop.Sold)}, nil))(t)
	for _, page := range []string{"/", "/staff/activity"} {
		got := b.mustGet(page, "System changed Budgie from available to sold", "System moved 10 animals to Category 2 Show each moved Budgie from Category 1 to Category 2", "System added 10 animals to Category 1 Show each added Budgie")
		if n := strings.Count(got.text(), "moved Budgie from"); n != 10 {
			t.Errorf("%s shows %d of the 10 changes", page, n)
		}
	}
	if file := b.mustGet("/staff/activity.csv").body; strings.Count(file, "System moved Budgie from") != 10 {
		t.Errorf("the file lacks some of the 10 changes:\n%s", file)
	}
}
