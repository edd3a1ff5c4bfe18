package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sex is the sex of an animal. It is empty if it is not known.
type Sex string

const (
	Female Sex = "female"
	Male   Sex = "male"
)

// Size is the size of an animal. It is empty if it is not known.
type Size string

const (
	SizeSmall      Size = "small"
	SizeMedium     Size = "medium"
	SizeLarge      Size = "large"
	SizeExtraLarge Size = "extra-large"
)

// Price is an amount of money.
type Price struct {
	Amount   string `json:"amount"`   // a decimal number, such as 250.00
	Currency string `json:"currency"` // a code of ISO 4217, such as EUR
}

// Traits are answers to questions about an animal. A field is nil if the answer is not known.
type Traits struct {
	Neutered         *bool `json:"neutered,omitempty"`
	Vaccinated       *bool `json:"vaccinated,omitempty"`
	HouseTrained     *bool `json:"houseTrained,omitempty"`
	SpecialNeeds     *bool `json:"specialNeeds,omitempty"`
	GoodWithDogs     *bool `json:"goodWithDogs,omitempty"`
	GoodWithCats     *bool `json:"goodWithCats,omitempty"`
	GoodWithChildren *bool `json:"goodWithChildren,omitempty"`
}

// Profile is what the shop says of an animal. Every animal has a profile. Fields with their zero value are not set.
type Profile struct {
	Pet                Pet      `json:"pet"`
	Published          bool     `json:"published"`
	Description        string   `json:"description,omitempty"` // may have several lines
	Breeds             []string `json:"breeds,omitempty"`
	Mixed              *bool    `json:"mixed,omitempty"`
	Sex                Sex      `json:"sex,omitempty"`
	BirthDate          string   `json:"birthDate,omitempty"` // YYYY-MM-DD
	BirthDateEstimated *bool    `json:"birthDateEstimated,omitempty"`
	Size               Size     `json:"size,omitempty"`
	Color              string   `json:"color,omitempty"`
	Price              *Price   `json:"price,omitempty"`
	ArrivalDate        string   `json:"arrivalDate,omitempty"` // YYYY-MM-DD
	Traits             *Traits  `json:"traits,omitempty"`
	Tags               []string `json:"tags,omitempty"`
	ContactURL         string   `json:"contactUrl,omitempty"`
	// Microchip, Location and Notes are internal. Only keys with the scope pets:write see them.
	Microchip string `json:"microchip,omitempty"`
	Location  string `json:"location,omitempty"`
	Notes     string `json:"notes,omitempty"` // may have several lines

	Photos    []Photo   `json:"photos,omitempty"`   // in their order; the first is the cover
	UpdatedAt time.Time `json:"updatedAt,omitzero"` // zero while the profile is empty
	// ETag identifies the current state of the profile for use with [IfMatch]. It is empty in lists.
	ETag string `json:"-"`
}

// ProfileUpdate describes a change to a profile. Fields that are nil stay unchanged, and so do the traits that are nil.
// Breeds and Tags replace all earlier ones. If they are empty but not nil, they remove them.
type ProfileUpdate struct {
	Published          *bool    `json:"published,omitempty"`
	Description        *string  `json:"description,omitempty"`
	Breeds             []string `json:"breeds,omitzero"`
	Mixed              *bool    `json:"mixed,omitempty"`
	Sex                *Sex     `json:"sex,omitempty"`
	BirthDate          *string  `json:"birthDate,omitempty"`
	BirthDateEstimated *bool    `json:"birthDateEstimated,omitempty"`
	Size               *Size    `json:"size,omitempty"`
	Color              *string  `json:"color,omitempty"`
	Price              *Price   `json:"price,omitempty"`
	ArrivalDate        *string  `json:"arrivalDate,omitempty"`
	Traits             *Traits  `json:"traits,omitempty"`
	Tags               []string `json:"tags,omitzero"`
	ContactURL         *string  `json:"contactUrl,omitempty"`
	Microchip          *string  `json:"microchip,omitempty"`
	Location           *string  `json:"location,omitempty"`
	Notes              *string  `json:"notes,omitempty"`
	// Remove contains the names of the members to remove in JSON, such as "price" or "traits.neutered". None of them may
	// be set by another field.
	Remove []string `json:"-"`
}

// MarshalJSON encodes the update as a JSON Merge Patch.
func (u ProfileUpdate) MarshalJSON() ([]byte, error) {
	type plain ProfileUpdate
	text, err := json.Marshal(plain(u))
	return removeMembers(text, err, u.Remove)
}

// removeMembers adds members that are null to a JSON object, unless it could not be encoded. The name of a member inside
// another one is such as traits.neutered. It fails if the object sets one of the members.
func removeMembers(object []byte, err error, names []string) ([]byte, error) {
	if err != nil || len(names) == 0 {
		return object, err
	}
	var members map[string]any
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	for _, name := range names {
		of, member := members, name
		if outer, inner, nested := strings.Cut(name, "."); nested {
			if slices.Contains(names, outer) {
				continue // it goes with the object that contains it
			}
			if members[outer] == nil {
				members[outer] = map[string]any{}
			}
			of, _ = members[outer].(map[string]any)
			member = inner
		}
		if of == nil || of[member] != nil {
			return nil, fmt.Errorf("the same update sets and removes %s", name)
		}
		of[member] = nil
	}
	return json.Marshal(members)
}

// ProfileQuery selects the profiles to list. Fields with their zero value are ignored.
type ProfileQuery struct {
	Status     PetStatus
	CategoryID *int64  // a pointer, because 0 is a valid category id
	Text       string  // words that occur in the name, a breed, the colour or a tag; with pets:write also in microchip or location
	IDs        []int64 // at most 100 ids of animals
	Published  *bool
	Sex        Sex
	Size       Size
	Tags       []string // the animal must have all of them; letter case is ignored
	Limit      int      // the number of profiles per page, 1 to 100
	Cursor     string   // the value of next returned by ListProfiles; empty for the first page
}

func (q ProfileQuery) values() url.Values {
	query := PetQuery{q.Status, q.CategoryID, q.Text, q.IDs, q.Limit, q.Cursor}.values()
	if q.Published != nil {
		query.Set("published", strconv.FormatBool(*q.Published))
	}
	if q.Sex != "" {
		query.Set("sex", string(q.Sex))
	}
	if q.Size != "" {
		query.Set("size", string(q.Size))
	}
	for _, tag := range q.Tags {
		query.Add("tag", tag)
	}
	return query
}

// ListProfiles returns one page of profiles, newest animal first. The default page size is 20. To get the next page, set
// Cursor to the returned value of next, which is empty on the last page. If the query has a Text or more than one filter,
// a page may have fewer profiles than the limit, or none, even if another page follows. [Client.Profiles] iterates over
// all pages.
func (c *Client) ListProfiles(ctx context.Context, q ProfileQuery) (profiles []Profile, next string, err error) {
	return fetchPage[Profile](ctx, c, "/profiles", byCursor, q.values())
}

// Profiles iterates over all profiles that match a query, newest animal first. The first error is yielded and ends the
// iteration.
func (c *Client) Profiles(ctx context.Context, q ProfileQuery) iter.Seq2[Profile, error] {
	return all[Profile](ctx, c, "/profiles", byCursor, q.values())
}

// GetProfile returns the profile of the animal with this id and its ETag. It fails with [CodeNotFound] if there is no such
// animal.
func (c *Client) GetProfile(ctx context.Context, petID int64) (profile Profile, err error) {
	got, err := c.get(ctx, pathOf("/pets", petID)+"/profile", nil, &profile)
	profile.ETag = got.header.Get("ETag")
	return profile, err
}

// UpdateProfile changes the profile of an animal and returns its new state. It fails with [CodeNotFound] if the animal does
// not exist and with [CodePreconditionFailed] if a condition is not met.
func (c *Client) UpdateProfile(ctx context.Context, petID int64, u ProfileUpdate, conditions ...Condition) (profile Profile, err error) {
	r := request{method: http.MethodPatch, path: pathOf("/pets", petID) + "/profile", body: u}
	got, err := c.do(ctx, r.withConditions(conditions), &profile)
	profile.ETag = got.header.Get("ETag")
	return profile, err
}
