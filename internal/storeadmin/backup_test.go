package storeadmin

import (
	"path/filepath"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// A write that has not been moved from the WAL to the database file yet is in a backup as well.
func TestBackupContainsTheWAL(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	s.AddPet(t, "Rex", 1, shop.Available)
	if !sqlstore.HasWAL(s.Database) {
		t.Fatal("the write is not in the WAL")
	}
	file := filepath.Join(t.TempDir(), "backup.db")
	if _, err := Backup(t.Context(), s.Database, file, false, func(finding string) { t.Error(finding) }); err != nil {
		t.Fatal(err)
	}
	backup, err := shoptest.OpenAt(t.Context(), file, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Store.Close()
	page, err := backup.ListPets(t.Context(), shop.PetList{PageRequest: shop.PageRequest{Limit: 10}})
	if err != nil || len(page.Items) != 1 || page.Items[0].Name != "Rex" {
		t.Errorf("got the animals %v, %v from the backup, want Rex", page.Items, err)
	}
}
