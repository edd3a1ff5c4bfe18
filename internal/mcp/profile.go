package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"animalstore/client"
)

func (set *toolSet) addProfileTools() {
	add(set, "update_profile", "Change a profile", client.ScopePetsWrite, changes,
		"Changes what the shop says of an animal, such as its description, breeds or price; what is not given stays. Needs the profileVersion "+
			"that get_animal showed: the change is made only if nobody has changed the animal or its profile since, and a repeated call changes "+
			"nothing. It publishes nothing: use publish_animal.",
		updateProfile)
	add(set, "publish_animal", "Publish an animal", client.ScopePetsWrite, changes,
		"Publishes the profile of an animal, so that everybody may see it, or takes it back. Needs the profileVersion that get_animal showed.",
		publishAnimal)
}

// findByProfile lists animals with filters that look into profiles. The service finds the words of a breed in names, colours
// and tags, too, so animals that have them only there are left out here.
func findByProfile(ctx context.Context, s session, in findAnimalsInput) (animalList, error) {
	query := client.ProfileQuery{
		Text: strings.TrimSpace(in.Text + " " + in.Breed), Status: in.Status, CategoryID: in.CategoryID, Sex: in.Sex, Size: in.Size,
		Limit: in.Limit.orDefault(), Cursor: in.Cursor,
	}
	if in.Tag != "" {
		query.Tags = []string{in.Tag}
	}
	profiles, next, err := s.ListProfiles(ctx, query)
	var pets []client.Pet
	for _, profile := range profiles {
		if hasBreed(profile, in.Breed) {
			pets = append(pets, profile.Pet)
		}
	}
	return animalList{nonNil(pets), next}, err
}

// hasBreed reports whether the breeds of an animal contain every word of a text. The service has already compared letters with
// accents, which may be missing in the text.
func hasBreed(profile client.Profile, text string) bool {
	breeds := strings.ToLower(strings.Join(profile.Breeds, " "))
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if !strings.Contains(breeds, word) && strings.IndexFunc(breeds+word, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
			return false
		}
	}
	return text == "" || breeds != ""
}

type updateProfileInput struct {
	ID          int64          `json:"id" jsonschema:"the id of the animal"`
	Version     version        `json:"version" jsonschema:"the profileVersion that get_animal returned, or the version that update_profile or publish_animal returned"`
	Description *string        `json:"description,omitempty" jsonschema:"plain text of up to 4000 characters"`
	Breeds      []string       `json:"breeds,omitempty" jsonschema:"up to two breeds, which replace the earlier ones"`
	Mixed       *bool          `json:"mixed,omitempty" jsonschema:"whether it is a mix of breeds"`
	Sex         *client.Sex    `json:"sex,omitempty" jsonschema:"female or male"`
	BirthDate   *string        `json:"birthDate,omitempty" jsonschema:"YYYY-MM-DD"`
	Size        *client.Size   `json:"size,omitempty" jsonschema:"small, medium, large or extra-large"`
	Color       *string        `json:"color,omitempty" jsonschema:"the colour, up to 100 characters"`
	Price       *client.Price  `json:"price,omitempty" jsonschema:"an amount such as 250.00 and the code of its currency such as EUR"`
	ArrivalDate *string        `json:"arrivalDate,omitempty" jsonschema:"YYYY-MM-DD"`
	Traits      *client.Traits `json:"traits,omitempty" jsonschema:"answers that are not given stay"`
	Tags        []string       `json:"tags,omitempty" jsonschema:"up to 20 tags, which replace the earlier ones"`
	ContactURL  *string        `json:"contactUrl,omitempty" jsonschema:"an https: URL or a mailto: address"`
	Remove      []removable    `json:"remove,omitempty" jsonschema:"names of members to remove, such as price"`
}

// removable is the name of a member of a profile that update_profile removes.
type removable string

// removables lists the names. The members that only the staff sees are not among them, because update_profile does not
// set them either.
func removables() []removable {
	names := []removable{
		"description", "breeds", "mixed", "sex", "birthDate", "birthDateEstimated", "size", "color", "price", "arrivalDate", "traits", "tags", "contactUrl",
	}
	for field := range reflect.TypeFor[client.Traits]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, removable("traits."+name))
	}
	return names
}

// changedProfile is the result of a tool that writes a profile.
type changedProfile struct {
	Profile client.Profile `json:"profile"`
	Version version        `json:"version"`
}

func updateProfile(ctx context.Context, s session, in updateProfileInput) (changedProfile, error) {
	remove := make([]string, len(in.Remove))
	for i, name := range in.Remove {
		remove[i] = string(name)
	}
	update := client.ProfileUpdate{
		Description: in.Description, Breeds: in.Breeds, Mixed: in.Mixed, Sex: in.Sex, BirthDate: in.BirthDate, Size: in.Size, Color: in.Color,
		Price: in.Price, ArrivalDate: in.ArrivalDate, Traits: in.Traits, Tags: in.Tags, ContactURL: in.ContactURL, Remove: remove,
	}
	if _, err := json.Marshal(update); err != nil {
		return changedProfile{}, invalidArguments("set and remove the same member")
	}
	profile, err := s.UpdateProfile(ctx, in.ID, update, in.Version.condition())
	return changedProfile{profile, versionOf(profile.ETag)}, err
}

type publishAnimalInput struct {
	ID        int64   `json:"id" jsonschema:"the id of the animal"`
	Version   version `json:"version" jsonschema:"the profileVersion that get_animal returned, or the version that update_profile or publish_animal returned"`
	Published bool    `json:"published" jsonschema:"true to publish it, false to take it back"`
}

func publishAnimal(ctx context.Context, s session, in publishAnimalInput) (changedProfile, error) {
	profile, err := s.UpdateProfile(ctx, in.ID, client.ProfileUpdate{Published: &in.Published}, in.Version.condition())
	return changedProfile{profile, versionOf(profile.ETag)}, err
}

func (c changedProfile) text() string {
	return petText(c.Profile.Pet) + c.Version.text() + profileText(c.Profile)
}

// profileText describes the members of a profile that are set, without its photos.
func profileText(p client.Profile) string {
	text, _ := json.Marshal(p) // cannot fail, because the profile was decoded from JSON
	list := members(text)
	delete(list, "pet")
	delete(list, "photos")
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		parts = append(parts, name+" "+list[name])
	}
	return "\nprofile: " + strings.Join(parts, ", ")
}

// photosText returns a line for each photo. It says where the largest file is, and what the photo shows.
func photosText(photos []client.Photo) (text string) {
	for _, photo := range photos {
		text += fmt.Sprintf("\nphoto %d: %s, %d × %d", photo.Position, photo.URLs.Large, photo.Width, photo.Height)
		if photo.Alt != "" {
			text += fmt.Sprintf(", %q", photo.Alt)
		}
	}
	return text
}
