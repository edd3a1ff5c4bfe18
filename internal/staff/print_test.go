package staff

import (
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A printed list of animals uses the filters of the catalogue. It shows all matching animals on one page, up to a
// maximum number.
func TestPrintedListsFollowTheFilters(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	shoptest.Must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Mia", 2, shop.Available)
	s.addOrderedPet("Max")
	b.mustGet("/staff/pets?status=pending&name=max").contains(`href="/staff/pets/print?name=max&amp;status=pending#print"`)
	b.mustGet("/staff/pets/print?status=available&category=1&name=rex", "Available “rex” Dogs", "1 Rex Dogs Available 1 animal.").lacks("Mia", "Max")
	b.mustGet("/staff/pets/print", "3 Max Dogs Reserved · order 1 2 Mia Category 2 Available 1 Rex Dogs Available 3 animals.")
	b.mustGet("/staff/pets/print?status=x", "The status must be one of")
	rows := slices.Repeat([]shop.ImportRow{{NewPet: shop.NewPet{Name: "Kim", CategoryID: 2, Status: shop.Sold}}}, maxPrintedRows+1)
	shoptest.Must(s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(t)
	page := b.mustGet("/staff/pets/print?status=sold", "1 000 animals. There are more")
	if n := strings.Count(page.body, "Kim"); n != maxPrintedRows {
		t.Errorf("the page has %d animals, want %d", n, maxPrintedRows)
	}
	b.mustGet("/staff/pets/print?name=rex", "1 Rex Dogs Available 1 animal.") // the search needs several reads
}

// The list of hand-overs contains the approved orders. A receipt contains what the customer and the shop need to know
// about one order.
func TestHandOversAndReceiptsArePrinted(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	shoptest.Must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	for _, name := range []string{"Rex", "Mia", "Max"} {
		s.addOrderedPet(name)
	}
	b.mustGet("/staff/orders/1/print", "Order 1", "Animal Rex · no. 1", "Category Dogs", "Note Rex", "Held until", "Status Reserved")
	b.post("/staff/orders/1/status", "was", "placed", "to", "approved")
	b.post("/staff/orders/2/status", "was", "placed", "to", "approved")
	b.post("/staff/orders/2/status", "was", "approved", "to", "delivered")
	b.mustGet("/").contains(`href="/staff/orders/print?sort=oldest&amp;status=approved#print"`)
	b.mustGet("/staff/orders/print?status=approved", "To hand over", "1 Rex no. 1 Dogs Rex", "Signature", "1 order.").lacks("Mia", "Max")
	b.mustGet("/staff/orders/print", "3 Max no. 3 Dogs Max Reserved", "2 Mia no. 2 Dogs Mia Handed over", "3 orders.")
	b.mustGet("/staff/orders/print?status=x", "The status must be one of reserved, approved, handed over, cancelled, expired.")
	b.mustGet("/staff/orders/print?q=max", "Customer “max” ", "3 Max no. 3", "1 order.").lacks("Mia", "Rex").contains(`href="/staff/orders?q=max"`)
	b.mustGet("/staff/orders?q=max&status=placed&sort=oldest").contains(`href="/staff/orders/print?q=max&amp;sort=oldest&amp;status=placed#print"`)
	if text := b.mustGet("/staff/orders/print?sort=oldest").text(); strings.Index(text, "1 Rex") > strings.Index(text, "3 Max") {
		t.Errorf("the oldest order does not come first: %s", text)
	}
	b.mustGet("/staff/orders/2/print", "Handed over", "Status Handed over").lacks("Held until")
	b.mustGet("/staff/orders?status=delivered").contains(`href="/staff/orders/2/print#print"`)
	b.get("/staff/orders/99/print").want(404)
	b.post("/staff/pets/2/delete", "was-name", "Mia", "was-category", "1", "was-status", "sold")
	b.mustGet("/staff/orders/2/print", "Animal no. 2 (removed)")
}

// The card for the cage has what customers ask for, and nothing internal. Its code leads to the page for everybody if there is
// one, and otherwise to that for the staff.
func TestCardForTheCageIsPrinted(t *testing.T) {
	t.Parallel()
	s, b := newShopWithPhotos(t)
	s.Clock.Forward(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC).Sub(s.Clock.Now()))
	b.post("/staff/sign-in", "key", configuredKey)
	shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, 1, shop.ProfileChange{
		Breeds: &[]string{"Beagle"}, Sex: new(shop.Male), BirthDate: new("2022-01-31"), Price: &shop.Price{Amount: "250", Currency: "EUR"},
		Traits: map[shop.Trait]shop.Answer{shop.GoodWithCats: shop.No}, Microchip: new("276094100000123"), Notes: new("Bites"), Location: new("Kennel 4"),
	}, nil))(t)
	code := func(path, label string) string { return string(shoptest.Must(qrCode(b.url+path, label))(t)) }
	b.mustGet("/staff/pets/1").contains(`href="/staff/pets/1/print#print"`)
	card := b.mustGet("/staff/pets/1/print", "Rex Beagle", "EUR 250", "Age 4 years", "Sex Male", "Number 1", "Good with cats : no", "For the staff").
		lacks("276094100000123", "Bites", "Kennel 4").contains(code("/staff/pets/1", "QR code with the page for the staff"), `-large.jpg"`)
	if n := strings.Count(card.body, "<img"); n != 1 {
		t.Errorf("the card has %d photos", n)
	}
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Name: new("Paws"), Kind: new(shop.KindShelter), Window: shop.WindowChange{Enabled: new(true)}}, nil))(t)
	b.mustGet("/staff/pets/1/print", "Paws", "Adoption fee EUR 250", "For the staff")
	shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, 1, shop.ProfileChange{Published: new(true)}, nil))(t)
	b.mustGet("/staff/pets/1/print", "More about Rex").contains(code("/window/pets/1", "QR code with the page for everybody"))
	s.AddPet(t, "Mia", 1, shop.Available)
	b.mustGet("/staff/pets/2/print", "Mia Category 1", "Number 2").lacks("<img", "Age")
	b.get("/staff/pets/9/print").want(404)
}
