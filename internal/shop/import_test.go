package shop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

var upsert = shop.ImportOptions{Upsert: true}

// exported returns the row that an export contains for an animal.
func exported(line int, pet shop.Pet) shop.ImportRow {
	return shop.ImportRow{Line: line, ID: &pet.ID, ETag: pet.ETag(), NewPet: pet.Fields()}
}

// eventsAfter returns the events after a position as lines such as "pet.updated pets/1".
func eventsAfter(t *testing.T, s *shoptest.Shop, last int64) (lines []string) {
	t.Helper()
	events, _, err := s.EventsAfter(t.Context(), shop.Caller{}, shop.EventFilter{}, last)
	check(t, err)
	for _, e := range events {
		lines = append(lines, fmt.Sprint(e.Type, " ", e.Subject))
	}
	return lines
}

// An upsert changes the animals whose ids are in the file, creates an animal for each row without an id, and
// records an event for each change, but none for unchanged animals. A dry run returns the same counts and
// changes nothing.
func TestUpsertChangesAndCreates(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	dogs := must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	rex, mia, tom := s.AddPet(t, "Rex", dogs.ID, shop.Available), s.AddPet(t, "Mia", 7, ""), s.AddPet(t, "Tom", 7, shop.Sold)
	rows := func() []shop.ImportRow {
		renamed, named, back, fresh := exported(2, rex), exported(3, mia), exported(4, tom), shop.ImportRow{Line: 6}
		renamed.Name, renamed.Status = "Rexi", "SOLD"
		named.Category, named.ByName, named.ETag = "birds", true, strings.Trim(named.ETag, `"`)
		back.Status = shop.Available
		fresh.NewPet, fresh.Category, fresh.ByName = shop.NewPet{Name: "Leo", Status: "Pending"}, "DOGS", true
		return []shop.ImportRow{renamed, named, back, exported(5, s.AddPet(t, "Max", 7, "")), fresh}
	}
	first := rows()
	last := must(s.LastEvent(t.Context()))(t)
	want := shop.ImportResult{Created: 1, Updated: 3}
	equal(t, "the dry run", must(s.ImportPets(t.Context(), shop.Caller{}, first, shop.ImportOptions{Upsert: true, DryRun: true}))(t), want)
	equal(t, "events of the dry run", len(eventsAfter(t, s, last)), 0)
	equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, first, upsert))(t), want)
	equal(t, "the events", strings.Join(eventsAfter(t, s, last), ", "),
		"category.created categories/2, pet.updated pets/1, pet.updated pets/2, pet.updated pets/3, pet.created pets/5")
	for _, pet := range []shop.Pet{
		{ID: 1, Name: "Rexi", CategoryID: dogs.ID, Status: shop.Sold}, {ID: 2, Name: "Mia", CategoryID: 2}, {ID: 3, Name: "Tom", CategoryID: 7, Status: shop.Available},
		{ID: 4, Name: "Max", CategoryID: 7}, {ID: 5, Name: "Leo", CategoryID: dogs.ID, Status: shop.Pending},
	} {
		equal(t, "the animal", must(s.Pet(t.Context(), pet.ID, nil))(t), pet)
	}
	equal(t, "the new category", must(s.Category(t.Context(), 2))(t).Name, "birds")
	equal(t, "the inventory", must(s.Inventory(t.Context()))(t), shop.Inventory{Available: 1, Pending: 1, Sold: 1, Unspecified: 2})
	_, err := s.ImportPets(t.Context(), shop.Caller{}, first, upsert) // the file is out of date now
	wantCode(t, err, shop.ValidationFailed)
}

// If a row must not change its animal, the whole import is refused, and the error says why.
func TestUpsertRefusesRows(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for _, name := range []string{"Dogs", "Cats", "cats", "Cats"} { // the categories get the ids 1 to 4
		must(s.CreateCategory(t.Context(), shop.Caller{}, name))(t)
	}
	free, held, sold := s.AddPet(t, "Rex", 1, shop.Available), s.AddPet(t, "Mia", 1, shop.Available), s.AddPet(t, "Tom", 7, shop.Sold)
	gone := s.AddPet(t, "gone", 1, "")
	check(t, s.DeletePet(t.Context(), shop.Caller{}, gone.ID, nil))
	must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: held.ID}))(t)
	held.Status = shop.Pending
	change := func(pet shop.Pet, change func(*shop.ImportRow)) []shop.ImportRow {
		row := exported(3, pet)
		change(&row)
		return []shop.ImportRow{row}
	}
	last := must(s.LastEvent(t.Context()))(t)
	for _, c := range []struct {
		rows []shop.ImportRow
		want string
	}{
		{change(free, func(r *shop.ImportRow) { r.ETag = "" }), "line 3: etag is required to update an animal; export the animals to get it"},
		{change(free, func(r *shop.ImportRow) { r.ETag = "*" }), "line 3: etag is out of date, because animal 1 has changed since; export it again"},
		{change(free, func(r *shop.ImportRow) { r.ETag = sold.ETag() }), "line 3: etag is out of date, because animal 1 has changed since; export it again"},
		{change(free, func(r *shop.ImportRow) { r.ID = nil }), "line 3: etag is given without an id; remove it to create an animal"},
		{change(free, func(r *shop.ImportRow) { r.ID = new(int64(99)) }), "line 3: id must be the id of an existing animal, or empty to create one"},
		{[]shop.ImportRow{exported(3, gone)}, "line 3: id must be the id of an existing animal, or empty to create one"},
		{[]shop.ImportRow{exported(3, free), exported(4, free)}, "line 4: id is the same as in line 3; keep one of the two rows"},
		{change(free, func(r *shop.ImportRow) { r.Status = "" }), "line 3: status cannot be removed; animal 1 is available"},
		{change(free, func(r *shop.ImportRow) { r.Status = "eaten" }), "line 3: status must be one of available, pending, sold"},
		{change(sold, func(r *shop.ImportRow) { r.Status = shop.Pending }), "line 3: status cannot change from sold to pending; it can become available"},
		{change(held, func(r *shop.ImportRow) { r.Status = shop.Available }), "line 3: status cannot change while order 1 holds animal 2"},
		{change(free, func(r *shop.ImportRow) { r.Category, r.ByName = "CATS", true }), "line 3: category is ambiguous: categories 2, 3, 4 have this name; give the categoryId"},
		{change(free, func(r *shop.ImportRow) { r.Category, r.ByName = "Cats", true }), "line 3: category is ambiguous: categories 2, 4 have this name; give the categoryId"},
		{change(free, func(r *shop.ImportRow) { r.Category, r.CategoryID = "Birds", 3 }), `line 3: category does not match categoryId: category 3 is "cats"; remove one of the two`},
		{change(free, func(r *shop.ImportRow) { r.Category, r.CategoryID = "Birds", 7 }), `line 3: category does not match categoryId: category 7 has no name; remove one of the two`},
		{change(sold, func(r *shop.ImportRow) { r.Category, r.CategoryID = "dogs", 8 }), `line 3: category does not match categoryId: there is another category "dogs"; remove one of the two`},
		{change(free, func(r *shop.ImportRow) { r.Category, r.ByName = "a\nb", true }),
			"line 3: category must not contain control characters (U+0000 to U+001F, U+007F)"},
	} {
		c.rows = append(c.rows, shop.ImportRow{Line: 9, NewPet: shop.NewPet{Name: "valid", CategoryID: 99}})
		for _, dryRun := range []bool{true, false} {
			_, err := s.ImportPets(t.Context(), shop.Caller{}, slices.Clone(c.rows), shop.ImportOptions{Upsert: true, DryRun: dryRun})
			wantCode(t, err, shop.ValidationFailed)
			equal(t, "the message", shop.AsError(err).Message, "Nothing was imported because a row is not valid: "+c.want+".")
		}
	}
	if events := eventsAfter(t, s, last); len(events) > 0 {
		t.Errorf("the imports wrote %v", events)
	}
	renamed := exported(2, held) // an order prevents a change of the status, but not of the name
	renamed.Name, renamed.Category, renamed.ByName = "Mia the second", "cats", true
	equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, []shop.ImportRow{renamed}, upsert))(t), shop.ImportResult{Updated: 1})
	equal(t, "the animal", must(s.Pet(t.Context(), held.ID, nil))(t), shop.Pet{ID: held.ID, Name: "Mia the second", CategoryID: 3, Status: shop.Pending})
}

// An error message lists only a few of the categories that share a name, and only the first invalid rows.
func TestAmbiguousNamesNeedShortMessages(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	rows := func(name string, n int) []shop.ImportRow {
		row := shop.ImportRow{Line: 2, NewPet: shop.NewPet{Name: "a"}, Category: name, ByName: true}
		return slices.Repeat([]shop.ImportRow{row}, n)
	}
	for range 5 {
		must(s.CreateCategory(t.Context(), shop.Caller{}, "x"))(t)
	}
	_, err := s.ImportPets(t.Context(), shop.Caller{}, rows("x", 1), shop.ImportOptions{})
	equal(t, "the message", shop.AsError(err).Message, "Nothing was imported because a row is not valid: "+
		"line 2: category is ambiguous: categories 1, 2, 3, 4, 5 have this name; give the categoryId.")
	for range 95 {
		must(s.CreateCategory(t.Context(), shop.Caller{}, "x"))(t)
	}
	problem := "line 2: category is ambiguous: categories 1, 2, 3, 4, 5 and others have this name; give the categoryId"
	for _, name := range []string{"x", "X", " x"} {
		for _, dryRun := range []bool{true, false} {
			_, err := s.ImportPets(t.Context(), shop.Caller{}, rows(name, 300), shop.ImportOptions{DryRun: dryRun})
			equal(t, "the message", shop.AsError(err).Message, "Nothing was imported because 300 rows are not valid; the first 20 are: "+
				strings.Join(slices.Repeat([]string{problem}, 20), "; ")+".")
		}
	}
	preview := must(s.PreviewImport(t.Context(), shop.Caller{}, rows("x", 300), false, 7))(t)
	equal(t, "the invalid rows", len(preview.InvalidRows), 300)
	equal(t, "the rows in the preview", len(preview.Problems), 7)
	must(s.CreateCategory(t.Context(), shop.Caller{}, "X"))(t) // this category has the highest id
	equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, rows("X", 1), shop.ImportOptions{}))(t), shop.ImportResult{Created: 1})
}

// Without upsert, ids and etags are ignored, even invalid ones, and a dry run says so.
func TestImportIgnoresIDs(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	rex := s.AddPet(t, "Rex", 1, shop.Available)
	rows := func() []shop.ImportRow {
		invalid := shop.ImportRow{Line: 3, ETag: "x", NewPet: shop.NewPet{Name: "Mia", CategoryID: 1}}
		invalid.Problems.Add("id", "must be a 64-bit integer")
		return []shop.ImportRow{exported(2, rex), invalid, {Line: 4, NewPet: shop.NewPet{Name: "Tom", CategoryID: 1}}}
	}
	equal(t, "the dry run", must(s.ImportPets(t.Context(), shop.Caller{}, rows(), shop.ImportOptions{DryRun: true}))(t), shop.ImportResult{Created: 3, IgnoredIDs: 2})
	equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, rows(), shop.ImportOptions{}))(t), shop.ImportResult{Created: 3})
	equal(t, "the animal", must(s.Pet(t.Context(), rex.ID, nil))(t), rex)
	equal(t, "the inventory", must(s.Inventory(t.Context()))(t), shop.Inventory{Available: 2, Unspecified: 2})
}

// New categories get the names in the file. They get the ids in the file or, if a row has only a name, a new
// id. Each name is created only once.
func TestImportCreatesNamedCategories(t *testing.T) {
	t.Parallel()
	row := func(id int64, category string, byName bool) shop.ImportRow {
		return shop.ImportRow{NewPet: shop.NewPet{Name: "Rex", CategoryID: id}, Category: category, ByName: byName}
	}
	rows := []shop.ImportRow{row(2, "Dogs", false), row(0, " dogs ", true), row(0, "Cats", true), row(0, "CATS", true), row(1, "", false), row(0, "Birds", true)}
	s := shoptest.Open(t, shoptest.Options{})
	equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(t), shop.ImportResult{Created: 6})
	equal(t, "the categories", fmt.Sprint(must(s.ListCategories(t.Context(), shop.PageRequest{Limit: 10}))(t).Items),
		"[{1 } {2 Dogs} {3 Cats} {4 Birds}]")
	var got []int64
	check(t, s.ExportPets(t.Context(), shop.Caller{}, shop.ExportOptions{}, func(rows []shop.ExportRow) error {
		for _, row := range rows {
			got = append(got, row.CategoryID)
		}
		return nil
	}))
	equal(t, "the animals' categories", fmt.Sprint(got), "[2 2 3 3 1 4]")

	known := shoptest.Open(t, shoptest.Options{Options: shop.Options{KnownCategories: true}})
	must(known.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	rows = []shop.ImportRow{row(1, "dogs", false), row(0, "Dogs", true), row(0, "Cats", true), row(2, "Dogs", false)}
	for i := range rows {
		rows[i].Line = i + 1
	}
	_, err := known.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{})
	equal(t, "the message", shop.AsError(err).Message, "Nothing was imported because 2 rows are not valid: "+
		"line 3: category must be the name of an existing category; add the category first, or correct the name; line 4: categoryId must be the id of an existing category.")
}

// overtakingStore is a store in which another service creates a category whenever a transaction is about to assign
// category ids without having called LockCategoryIDs.
type overtakingStore struct {
	shop.Store
	other *shop.Service
}

type overtakenTx struct {
	shop.WriteTx
	store  overtakingStore
	locked bool
}

func (s overtakingStore) Write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) error {
	return s.Store.Write(ctx, w, func(tx shop.WriteTx) error { return fn(&overtakenTx{WriteTx: tx, store: s}) })
}

func (tx *overtakenTx) LockCategoryIDs() error {
	tx.locked = true
	return tx.WriteTx.LockCategoryIDs()
}

func (tx *overtakenTx) AssignCategoryIDs(n int) ([]int64, error) {
	if !tx.locked {
		if _, err := tx.store.other.CreateCategory(context.Background(), shop.Caller{}, "Cats"); err != nil {
			return nil, err
		}
	}
	return tx.WriteTx.AssignCategoryIDs(n)
}

// An import that creates categories takes much longer than the creation of one category. It succeeds even if other
// clients keep creating categories.
func TestImportIsOvertakenOnlyOnce(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{Postgres: true})
	must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	store := overtakingStore{s.Store, s.Service}
	service := must(shop.Open(t.Context(), store, shop.Options{Environment: shop.Production}))(t)
	rows := []shop.ImportRow{{Line: 2, NewPet: shop.NewPet{Name: "Mia"}, Category: "Birds", ByName: true}}
	equal(t, "the import", must(service.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(t), shop.ImportResult{Created: 1})
	birds := must(s.CategoriesNamed(t.Context(), "Birds"))(t)
	equal(t, "the new category", fmt.Sprint(birds), "[{3 Birds}]") // Cats came first and got id 2
}

// Like every other operation, an upsert treats a hold as ended as soon as its time is over.
func TestUpsertSeesThatAHoldHasEnded(t *testing.T) {
	inVirtualTime(t, shop.Options{OrderHold: time.Hour}, func(t *testing.T, s *shoptest.Shop) {
		rex := s.AddPet(t, "Rex", 1, shop.Available)
		must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: rex.ID}))(t)
		time.Sleep(time.Hour)
		row := exported(2, rex)
		row.Status = shop.Sold
		for _, dryRun := range []bool{true, false} {
			options := shop.ImportOptions{Upsert: true, DryRun: dryRun}
			equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, []shop.ImportRow{row}, options))(t), shop.ImportResult{Updated: 1})
		}
		equal(t, "the animal", must(s.Pet(t.Context(), rex.ID, nil))(t).Status, shop.Sold)
		equal(t, "the order", must(s.Order(t.Context(), 1))(t).Status, shop.Expired)
	})
}

// If an import and an order change the same animal at the same time, neither overwrites the other. The import
// either comes first or fails.
func TestUpsertAndOrdersDoNotOverwriteEachOther(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		for range 10 {
			rex := s.AddPet(t, "Rex", 1, shop.Available)
			row := exported(2, rex)
			row.Name = "Rexi"
			var ordered, imported error
			var both sync.WaitGroup
			both.Go(func() { _, ordered = nodes[0].PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: rex.ID}) })
			both.Go(func() { _, imported = nodes[1].ImportPets(t.Context(), shop.Caller{}, []shop.ImportRow{row}, upsert) })
			both.Wait()
			check(t, ordered)
			want := shop.Pet{ID: rex.ID, Name: "Rexi", CategoryID: 1, Status: shop.Pending}
			if imported != nil {
				wantCode(t, imported, shop.ValidationFailed)
				want.Name = "Rex"
			}
			equal(t, "the animal", must(s.Pet(t.Context(), rex.ID, nil))(t), want)
		}
	})
}
