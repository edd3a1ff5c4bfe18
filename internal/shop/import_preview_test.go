package shop_test

import (
	"fmt"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// previewed returns a preview as lines such as "update 3 Rex 1 Dogs available -> Rex 2 Cats available".
func previewed(preview shop.ImportPreview) string {
	var lines []string
	pet := func(p shop.PreviewPet) string {
		return fmt.Sprint(p.Name, " ", p.CategoryID, " ", p.Category.Name, " ", p.Status)
	}
	for _, rows := range [][]shop.PreviewRow{preview.Problems, preview.Updates, preview.Creates, preview.Keeps} {
		for _, row := range rows {
			line := fmt.Sprint(row.Action, " ", row.Line, " ")
			if row.Before != nil {
				line += pet(*row.Before) + " -> "
			}
			lines = append(lines, line+pet(row.After)+" "+row.Problems.String())
		}
	}
	return fmt.Sprintf("%d new, %d changed, %d unchanged, %d invalid, %d ids ignored, new categories %v\n%s", preview.Created, preview.Updated,
		preview.Unchanged, len(preview.InvalidRows), preview.IgnoredIDs, preview.NewCategories, strings.Join(lines, "\n"))
}

// A preview says what an import would do with each row, and which categories it would create. It writes
// nothing.
func TestPreviewSaysWhatEachRowDoes(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	rex, mia, old := s.AddPet(t, "Rex", 1, shop.Available), s.AddPet(t, "Mia", 7, ""), s.AddPet(t, "Tom", 1, shop.Available)
	rows := func() []shop.ImportRow {
		changed, stale := exported(2, rex), exported(5, old)
		changed.Name, changed.Category, changed.ByName = "Max", "birds", true
		stale.ETag = rex.ETag()
		fresh := shop.ImportRow{Line: 4, NewPet: shop.NewPet{Name: "Leo", CategoryID: 9, Status: "SOLD"}}
		return []shop.ImportRow{changed, exported(3, mia), fresh, stale, {Line: 6, NewPet: shop.NewPet{Name: "", CategoryID: 8}}}
	}
	last := must(s.LastEvent(t.Context()))(t)
	equal(t, "the preview", previewed(must(s.PreviewImport(t.Context(), shop.Caller{}, rows(), true, 10))(t)), `1 new, 1 changed, 1 unchanged, 2 invalid, 0 ids ignored, new categories [{0 birds} {9 }]
problem 5 Tom 1 Dogs available -> Tom 1  available etag is out of date, because animal 3 has changed since; export it again
problem 6  8   name must have 1 to 200 characters, not 0
update 2 Rex 1 Dogs available -> Max 0 birds available 
create 4 Leo 9  sold 
keep 3 Mia 7   -> Mia 7   `)
	equal(t, "the preview of one row for each action", previewed(must(s.PreviewImport(t.Context(), shop.Caller{}, rows(), true, 1))(t)), `1 new, 1 changed, 1 unchanged, 2 invalid, 0 ids ignored, new categories [{0 birds}]
problem 5 Tom 1 Dogs available -> Tom 1  available etag is out of date, because animal 3 has changed since; export it again
update 2 Rex 1 Dogs available -> Max 0 birds available 
create 4 Leo 9  sold 
keep 3 Mia 7   -> Mia 7   `)
	equal(t, "the invalid rows", fmt.Sprint(must(s.PreviewImport(t.Context(), shop.Caller{}, rows(), true, 1))(t).InvalidRows), "[3 4]")
	equal(t, "the preview without ids", previewed(must(s.PreviewImport(t.Context(), shop.Caller{}, rows()[:2], false, 10))(t)), `2 new, 0 changed, 0 unchanged, 0 invalid, 2 ids ignored, new categories [{0 birds}]
create 2 Max 0 birds available 
create 3 Mia 7   `)
	equal(t, "the events", len(eventsAfter(t, s, last)), 0)
	_, err := s.PreviewImport(t.Context(), shop.Caller{}, make([]shop.ImportRow, shop.MaxImport+1), true, 10)
	wantCode(t, err, shop.PayloadTooLarge)
}

// An exported row has both the id and the name of its category. To move an animal to another category, it is enough to
// change one of them.
func TestUpsertFollowsTheChangedPartOfTheCategory(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	for _, name := range []string{"Dogs", "Cats"} { // the categories get the ids 1 and 2
		must(s.CreateCategory(t.Context(), shop.Caller{}, name))(t)
	}
	edit := func(pet shop.Pet, name string, id int64) shop.ImportRow {
		row := exported(int(pet.ID)+1, pet)
		row.Category, row.CategoryID = name, id
		return row
	}
	pets := []shop.Pet{s.AddPet(t, "only the name", 1, ""), s.AddPet(t, "only the id", 1, ""), s.AddPet(t, "both", 1, ""),
		s.AddPet(t, "a new name", 1, ""), s.AddPet(t, "no name", 7, ""), s.AddPet(t, "nothing", 1, ""), s.AddPet(t, "an id without a name", 1, "")}
	rows := []shop.ImportRow{edit(pets[0], "cats", 1), edit(pets[1], "Dogs", 2), edit(pets[2], "Cats", 2),
		edit(pets[3], "Birds", 1), edit(pets[4], "Cats", 7), edit(pets[5], "DOGS ", 1), edit(pets[6], "Dogs", 7)}
	equal(t, "the import", must(s.ImportPets(t.Context(), shop.Caller{}, rows, upsert))(t), shop.ImportResult{Updated: 6})
	for i, want := range []int64{2, 2, 2, 3, 2, 1, 7} {
		equal(t, "the category of "+pets[i].Name, must(s.Pet(t.Context(), pets[i].ID, nil))(t).CategoryID, want)
	}
}
