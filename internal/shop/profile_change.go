package shop

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ProfileChange is a partial update of a profile. Fields that are nil are not changed. The zero value of a field removes
// the member. Traits that are not in the map are not changed.
type ProfileChange struct {
	Published          *bool
	Description        *string
	Breeds             *[]string
	Mixed              *Answer
	Sex                *Sex
	BirthDate          *string
	BirthDateEstimated *Answer
	Size               *Size
	Color              *string
	Price              *Price
	ArrivalDate        *string
	NoTraits           bool // removes the traits that are not in Traits
	Traits             map[Trait]Answer
	Tags               *[]string
	ContactURL         *string
	Microchip          *string
	Location           *string
	Notes              *string
}

// apply returns a copy of the profile with the change applied.
func (c ProfileChange) apply(p Profile) Profile {
	replace(&p.Published, c.Published)
	replace(&p.Description, c.Description)
	replace(&p.Breeds, c.Breeds)
	replace(&p.Mixed, c.Mixed)
	replace(&p.Sex, c.Sex)
	replace(&p.BirthDate, c.BirthDate)
	replace(&p.BirthDateEstimated, c.BirthDateEstimated)
	replace(&p.Size, c.Size)
	replace(&p.Color, c.Color)
	replace(&p.Price, c.Price)
	replace(&p.ArrivalDate, c.ArrivalDate)
	replace(&p.Tags, c.Tags)
	replace(&p.ContactURL, c.ContactURL)
	replace(&p.Microchip, c.Microchip)
	replace(&p.Location, c.Location)
	replace(&p.Notes, c.Notes)
	if c.NoTraits {
		p.Traits = Traits{}
	}
	for trait, answer := range c.Traits {
		p.Traits[trait] = answer
	}
	p.Description, p.Notes = unixLines(p.Description), unixLines(p.Notes)
	p.Tags = mergeTags(p.Tags)
	return p
}

// Problems validates the members that the change sets.
func (c ProfileChange) Problems(now time.Time) Problems { return c.apply(Profile{}).Problems(now) }

func replace[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// mergeTags removes tags that are the same as an earlier one.
func mergeTags(tags []string) (merged []string) {
	seen := map[string]bool{}
	for _, tag := range tags {
		if key := CategoryKey(tag); !seen[key] {
			seen[key] = true
			merged = append(merged, tag)
		}
	}
	return merged
}

// The limits of a profile's members, in code points and items.
const (
	maxDescription = 4000
	maxBreeds      = 2
	maxShortText   = 100
	maxTag         = 50
	maxContactURL  = 500
)

// MaxTags is the maximum number of tags of a profile.
const MaxTags = 20

// Problems validates the members of a profile. Dates must not be in the future anywhere on earth at the time now.
func (p Profile) Problems(now time.Time) (problems Problems) {
	check := func(member, value string, problem func(string) string) {
		if value == "" {
			return
		}
		if reason := problem(value); reason != "" {
			problems.Add(member, reason)
		}
	}
	check("description", p.Description, DescriptionProblem)
	if len(p.Breeds) > maxBreeds {
		problems.Add("breeds", fmt.Sprintf("must have at most %d items", maxBreeds))
	}
	for _, breed := range p.Breeds {
		if reason := ShortTextProblem(breed); reason != "" {
			problems.Add("breeds", reason)
		}
	}
	check("sex", string(p.Sex), SexProblem)
	check("birthDate", p.BirthDate, func(date string) string { return dateProblem(date, firstBirthDate, now) })
	check("size", string(p.Size), SizeProblem)
	check("color", p.Color, ShortTextProblem)
	if p.Price != (Price{}) {
		problems.Merge(p.Price.Problems())
	}
	check("arrivalDate", p.ArrivalDate, func(date string) string { return dateProblem(date, "", now) })
	if len(p.Tags) > MaxTags {
		problems.Add("tags", fmt.Sprintf("must have at most %d items", MaxTags))
	}
	for _, tag := range p.Tags {
		if reason := TagProblem(tag); reason != "" {
			problems.Add("tags", reason)
		}
	}
	check("contactUrl", p.ContactURL, ContactURLProblem)
	check("microchip", p.Microchip, MicrochipProblem)
	check("location", p.Location, ShortTextProblem)
	check("notes", p.Notes, DescriptionProblem)
	return problems
}

// DescriptionProblem explains why a description or the notes sent by a client are invalid. It returns "" if they are valid.
func DescriptionProblem(s string) string {
	return textProblem(strings.ReplaceAll(unixLines(s), "\n", " "), maxDescription)
}

// ShortTextProblem explains why a breed, a colour or a location sent by a client is invalid. It returns "" if it is valid.
func ShortTextProblem(s string) string { return textProblem(s, maxShortText) }

// SexProblem explains why a sex sent by a client is invalid. It returns "" if the sex is valid.
func SexProblem(s string) string { return choiceProblem(Sex(s), Sexes()) }

// SizeProblem explains why a size sent by a client is invalid. It returns "" if the size is valid.
func SizeProblem(s string) string { return choiceProblem(Size(s), Sizes()) }

func choiceProblem[T ~string](value T, allowed []T) string {
	if slices.Contains(allowed, value) {
		return ""
	}
	return "must be one of " + joinWords(allowed, ", ")
}

// TagProblem explains why a tag sent by a client is invalid. It returns "" if the tag is valid.
func TagProblem(s string) string {
	if strings.Contains(s, ",") {
		return "must not contain commas"
	}
	return textProblem(s, maxTag)
}

// contactURLs is the pattern of contact URLs.
var contactURLs = regexp.MustCompile(`^(https://[^\x00-\x20\x7f/?#@:\[\]\\]+(:[0-9]{1,5})?([/?#][^\x00-\x20\x7f]*)?|mailto:[^\x00-\x20\x7f@]+@[^\x00-\x20\x7f]+)$`)

// ContactURLProblem explains why a contact URL sent by a client is invalid. It returns "" if the URL is valid.
func ContactURLProblem(s string) string {
	if reason := textProblem(s, maxContactURL); reason != "" {
		return reason
	}
	if !contactURLs.MatchString(s) {
		return "must be an https: URL or a mailto: address"
	}
	return ""
}

// MicrochipProblem explains why the number of a microchip sent by a client is invalid. It returns "" if it is valid.
func MicrochipProblem(s string) string {
	other := func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') }
	if len(s) < 9 || len(s) > 15 || strings.ContainsFunc(s, other) {
		return "must have 9 to 15 letters and digits"
	}
	return ""
}

// firstBirthDate is the earliest date of birth.
const firstBirthDate = "1900-01-01"

// DateProblem explains why a text sent by a client is not a date. It returns "" if it is one.
func DateProblem(s string) string {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return "must be a date such as 2026-05-31"
	}
	return ""
}

// dateProblem is like DateProblem, for a date that must not be before first or in the future. Nowhere on earth is it later
// than at UTC+14.
func dateProblem(s, first string, now time.Time) string {
	switch today := now.UTC().Add(14 * time.Hour).Format(time.DateOnly); {
	case DateProblem(s) != "":
		return DateProblem(s)
	case s < first:
		return "must not be before " + first
	case s > today:
		return "must not be in the future"
	}
	return ""
}
