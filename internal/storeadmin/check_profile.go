package storeadmin

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// checkProfiles checks every profile and compares it with its newest event, which does not contain the internal members.
// It also compares the tags with the table by which they are found.
func (c *checker) checkProfiles(ctx context.Context) error {
	few := limitedFindings{checker: c}
	var tags rowSum
	query := c.engine.with + "SELECT " + sqlstore.ProfileColumns + ", profile.removed, profile.photos, " + c.newestEvent("profile", "pets/", profileSubject) +
		" FROM profiles AS profile ORDER BY profile.id"
	err := c.Each(ctx, query, func(scan sqlstore.Scanner) error {
		var removed int64
		var event, photos sql.NullString
		profile, err := sqlstore.ScanProfile(func(columns ...any) error { return scan(append(columns, &removed, &photos, &event)...) })
		id := profile.Pet.ID
		if err != nil {
			return fmt.Errorf("profiles %d: %w", id, err)
		}
		if removed == 0 {
			for _, tag := range profile.Tags {
				tags.add(shop.CategoryKey(tag), id)
			}
		}
		// Dates were compared with the day on which they were written.
		if problems := profile.Problems(time.Now().AddDate(100, 0, 0)); len(problems) > 0 {
			few.finding("profiles %d: its %s", id, problems)
		}
		switch {
		case !event.Valid && c.horizon == 0:
			few.finding("profiles %d: it has no event", id)
		case event.Valid && !sameAsEvent(profile, event.String, photos.Valid && photos.String == ""):
			few.finding("profiles %d: its newest event differs from it", id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var found rowSum
	err = c.Each(ctx, "SELECT tag, id FROM profile_tags", func(scan sqlstore.Scanner) error {
		var tag string
		var id int64
		err := scan(&tag, &id)
		found.add(tag, id)
		return err
	})
	if err == nil && found != tags {
		c.finding("profile_tags: its %d rows differ from the %d tags of the profiles", found.n, tags.n)
	}
	return err
}

// checkEmptyProfiles reports profiles that have no row although their newest event says that they are not empty.
func (c *checker) checkEmptyProfiles(ctx context.Context) error {
	few := limitedFindings{checker: c}
	query := c.engine.with + "SELECT e.subject, e.data FROM " + c.engine.feed + " e WHERE e.type = 'profile.updated' AND NOT EXISTS (SELECT 1 FROM " +
		c.engine.feed + " d WHERE d.subject = e.subject AND " + c.engine.later + ") AND NOT EXISTS (SELECT 1 FROM profiles WHERE 'pets/' || id || '" +
		profileSubject + "' = e.subject)"
	return c.Each(ctx, query, func(scan sqlstore.Scanner) error {
		var subject, data string
		if err := scan(&subject, &data); err != nil {
			return err
		}
		if members, ok := currentMembers(data); !ok || members["updatedAt"] != nil {
			few.finding("%s: it does not exist, but there is an event of its change", subject)
		}
		return nil
	})
}

// sameAsEvent reports whether a profile has the members that an event says it has. Of the pet, the event has the state
// that it had then. If the photos were deleted after the pet had been removed, the event still has them.
func sameAsEvent(profile shop.Profile, data string, photosDeleted bool) bool {
	of, ok := currentMembers(data)
	if photosDeleted {
		delete(of, "photos")
	}
	var row map[string]json.RawMessage
	text, err := json.Marshal(profile)
	if !ok || err != nil || json.Unmarshal(text, &row) != nil || len(row) != len(of) {
		return false
	}
	for name, value := range row {
		if name != "pet" && !bytes.Equal(value, of[name]) {
			return false
		}
	}
	return true
}

// currentMembers returns the members of the current state in the data of an event.
func currentMembers(data string) (members map[string]json.RawMessage, ok bool) {
	var event struct{ Current map[string]json.RawMessage }
	err := json.Unmarshal([]byte(data), &event)
	return event.Current, err == nil && event.Current != nil
}

// rowSum is the number of some rows and a sum over them that does not depend on their order.
type rowSum struct {
	n   int
	sum uint64
}

func (s *rowSum) add(columns ...any) {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%q", columns)
	s.n, s.sum = s.n+1, s.sum+hash.Sum64()
}
