package sqlstore

import (
	"fmt"
	"strconv"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
)

func (t *tx) UpdateProfiles(updates ...shop.ProfileUpdate) error {
	var added, changed []shop.Profile
	var emptied, published, unpublished []int64
	for _, u := range updates {
		id := u.After.Pet.ID
		t.profileTextChanged(id)
		if u.Before.Published || u.After.Published {
			t.touched |= touchedWindow
		}
		switch {
		case u.After.UpdatedAt.IsZero():
			emptied = append(emptied, id)
		case u.Before.UpdatedAt.IsZero():
			added = append(added, u.After)
		default:
			changed = append(changed, u.After)
		}
		switch {
		case u.After.Published == u.Before.Published:
		case u.After.Published:
			published = append(published, id)
		default:
			unpublished = append(unpublished, id)
		}
	}
	profile := func(list []shop.Profile) func([]any, int) []any {
		return func(args []any, row int) []any { return appendProfile(args, list[row]) }
	}
	if err := t.Insert(profileInsertion, len(added), profile(added)); err != nil {
		return err
	}
	if err := t.dialect.update(t, profileUpdate, len(changed), profile(changed)); err != nil {
		return err
	}
	for _, step := range []struct {
		ids       []int64
		statement string
	}{
		{emptied, "DELETE FROM profiles WHERE id IN (%s)"},
		{published, "UPDATE pets SET published = 1 WHERE id IN (%s)"},
		{unpublished, "UPDATE pets SET published = 0 WHERE id IN (%s)"},
	} {
		if err := execIn(t, step.ids, step.statement); err != nil {
			return err
		}
	}
	if err := t.rememberPublished(published); err != nil {
		return err
	}
	return t.updateTags(updates)
}

// profileTextChanged records that the transaction may change the words of a profile.
func (t *tx) profileTextChanged(id int64) {
	t.textChanged(profileWords, id)
	t.textChanged(internalWords, id)
}

// profileTag is a row of the table profile_tags.
type profileTag struct {
	tag string
	id  int64
}

var tagInsertion = &engine.Insertion{Table: "profile_tags", Columns: "tag, id", Types: []string{"TEXT", "BIGINT"}}

// updateTags replaces the rows of profile_tags.
func (t *tx) updateTags(updates []shop.ProfileUpdate) error {
	var added, removed []profileTag
	for _, u := range updates {
		before, after := tagKeys(u.Before.Tags), tagKeys(u.After.Tags)
		for key := range after {
			if !before[key] {
				added = append(added, profileTag{key, u.After.Pet.ID})
			}
		}
		for key := range before {
			if !after[key] {
				removed = append(removed, profileTag{key, u.Before.Pet.ID})
			}
		}
	}
	err := inChunks(removed, "(CAST($ AS TEXT), CAST($ AS BIGINT))", func(part []profileTag, places string) error {
		var args []any
		for _, row := range part {
			args = append(args, row.tag, row.id)
		}
		return t.Exec("DELETE FROM profile_tags WHERE (tag, id) IN (VALUES "+places+")", args...)
	})
	if err != nil {
		return err
	}
	return t.Insert(tagInsertion, len(added), func(args []any, row int) []any { return append(args, added[row].tag, added[row].id) })
}

func tagKeys(tags []string) map[string]bool {
	keys := map[string]bool{}
	for _, tag := range tags {
		keys[shop.CategoryKey(tag)] = true
	}
	return keys
}

// The values of the column profiles.removed.
const (
	profileShown       = 0
	profileRestorable  = 1 // the pet has been removed
	profileUnreachable = 2 // the pet cannot be restored any more, and the profile stays only until its photos have been deleted
)

// keepProfile hides the profile of a pet that is removed. The row remains, so that restoreProfile can bring it back.
func (t *tx) keepProfile(pet shop.Pet) error {
	kept, _, err := t.Profile(pet.ID)
	if err != nil || kept.UpdatedAt.IsZero() {
		return err
	}
	t.profileTextChanged(pet.ID)
	if kept.Published {
		t.touched |= touchedWindow
	}
	var removedAt any
	if len(kept.Photos) > 0 {
		now, err := t.Now()
		if err != nil {
			return err
		}
		removedAt = micros(now)
	}
	if err := t.Exec("UPDATE profiles SET removed = $2, photos_removed_at = $3 WHERE id = $1", pet.ID, profileRestorable, removedAt); err != nil {
		return err
	}
	return t.updateTags([]shop.ProfileUpdate{{Before: kept}})
}

// restoreProfile brings back the profile of a pet that has been restored.
func (t *tx) restoreProfile(pet shop.Pet) error {
	kept, _, err := t.Profile(pet.ID)
	if err != nil || kept.UpdatedAt.IsZero() {
		return err
	}
	t.profileTextChanged(pet.ID)
	if err := t.Exec("UPDATE profiles SET removed = $2, photos_removed_at = NULL WHERE id = $1", pet.ID, profileShown); err != nil {
		return err
	}
	if err := t.Exec("UPDATE pets SET published = (SELECT published FROM profiles WHERE id = $1) WHERE id = $1", pet.ID); err != nil {
		return err
	}
	if kept.Published {
		t.touched |= touchedWindow
	}
	return t.updateTags([]shop.ProfileUpdate{{After: kept}})
}

// removeProfiles deletes the profiles of removed pets that cannot be restored any more, because there are no events about
// them. The profiles with photos stay until their files have been deleted. subjects are the subjects of the events that
// reported the removals.
func (t *tx) removeProfiles(subjects []string) error {
	ids := make([]int64, 0, len(subjects))
	for _, subject := range subjects {
		if id, err := strconv.ParseInt(strings.TrimPrefix(subject, "pets/"), 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	removed, err := allIn(t, ids, scanValue[int64], fmt.Sprintf("SELECT id FROM profiles WHERE removed = %d AND id IN (%%s)", profileRestorable))
	if err != nil {
		return err
	}
	var gone []int64
	for _, id := range removed {
		newer, err := t.NewestEvents("pets/"+strconv.FormatInt(id, 10), 1)
		if err != nil {
			return err
		}
		if len(newer) == 0 {
			gone = append(gone, id)
		}
	}
	for _, statement := range []string{
		fmt.Sprintf("UPDATE profiles SET removed = %d, photos_removed_at = 0 WHERE photos_removed_at IS NOT NULL AND id IN (%%s)", profileUnreachable),
		"DELETE FROM profiles WHERE photos_removed_at IS NULL AND id IN (%s)",
	} {
		if err := execIn(t, gone, statement); err != nil {
			return err
		}
	}
	return nil
}
