package shop_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// profileDay is a time at which it is already the next day in the east.
var profileDay = time.Date(2026, 5, 4, 11, 0, 0, 0, time.UTC)

func TestProfileMembersAreValidated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 4000)
	for name, c := range map[string]struct {
		profile shop.Profile
		want    string // the problem, or "" if the profile is valid
	}{
		"empty":                        {},
		"longest description":          {shop.Profile{Description: long}, ""},
		"description too long":         {shop.Profile{Description: long + "ä"}, "description must have 1 to 4000 characters, not 4001"},
		"lines":                        {shop.Profile{Description: "a\nb\r\nc", Notes: "\n a"}, ""},
		"only lines":                   {shop.Profile{Notes: "\n \n"}, "notes must have at least one character that is not a space"},
		"tab":                          {shop.Profile{Description: "a\tb"}, "description must not contain control characters (U+0000 to U+001F, U+007F)"},
		"lone carriage return":         {shop.Profile{Description: "a\rb"}, "description must not contain control characters (U+0000 to U+001F, U+007F)"},
		"three breeds":                 {shop.Profile{Breeds: []string{"a", "b", "c"}}, "breeds must have at most 2 items"},
		"line in a breed":              {shop.Profile{Breeds: []string{"a", "b\nc"}}, "breeds must not contain control characters (U+0000 to U+001F, U+007F)"},
		"empty breed":                  {shop.Profile{Breeds: []string{""}}, "breeds must have 1 to 100 characters, not 0"},
		"sex":                          {shop.Profile{Sex: "F"}, "sex must be one of female, male"},
		"size":                         {shop.Profile{Size: "huge"}, "size must be one of small, medium, large, extra-large"},
		"first birth date":             {shop.Profile{BirthDate: "1900-01-01"}, ""},
		"birth date too early":         {shop.Profile{BirthDate: "1899-12-31"}, "birthDate must not be before 1900-01-01"},
		"today at UTC+14":              {shop.Profile{BirthDate: "2026-05-05", ArrivalDate: "2026-05-05"}, ""},
		"tomorrow everywhere":          {shop.Profile{ArrivalDate: "2026-05-06"}, "arrivalDate must not be in the future"},
		"no day of the calendar":       {shop.Profile{BirthDate: "2023-02-29"}, "birthDate must be a date such as 2026-05-31"},
		"short date":                   {shop.Profile{BirthDate: "2023-2-9"}, "birthDate must be a date such as 2026-05-31"},
		"color too long":               {shop.Profile{Color: long[:202]}, "color must have 1 to 100 characters, not 101"},
		"price":                        {shop.Profile{Price: shop.Price{Amount: "999999999.99", Currency: "EUR"}}, ""},
		"price of nothing":             {shop.Profile{Price: shop.Price{Amount: "0", Currency: "USD"}}, ""},
		"negative price":               {shop.Profile{Price: shop.Price{Amount: "-1", Currency: "EUR"}}, `price.amount must be a decimal number of 0 or more as a string, such as "250.00"`},
		"price that ends with a point": {shop.Profile{Price: shop.Price{Amount: "1.", Currency: "EUR"}}, `price.amount must be a decimal number of 0 or more as a string, such as "250.00"`},
		"price that is too high":       {shop.Profile{Price: shop.Price{Amount: "1000000000", Currency: "EUR"}}, "price.amount must have at most 9 digits before the point"},
		"price in thousandths":         {shop.Profile{Price: shop.Price{Amount: "1.005", Currency: "EUR"}}, "price.amount must have at most 2 digits after the point in EUR"},
		"dinars in thousandths":        {shop.Profile{Price: shop.Price{Amount: "1.005", Currency: "KWD"}}, ""},
		"yen with a fraction":          {shop.Profile{Price: shop.Price{Amount: "1.0", Currency: "JPY"}}, "price.amount must be a whole number in JPY"},
		"currency":                     {shop.Profile{Price: shop.Price{Amount: "1", Currency: "eur"}}, "price.currency must be a currency code of ISO 4217, such as EUR"},
		"former currency":              {shop.Profile{Price: shop.Price{Amount: "1", Currency: "DEM"}}, "price.currency must be a currency code of ISO 4217, such as EUR"},
		"parts of two currencies":      {shop.Profile{Price: shop.Price{Amount: "1", Currency: "D A"}}, "price.currency must be a currency code of ISO 4217, such as EUR"},
		"comma in a tag":               {shop.Profile{Tags: []string{"a,b"}}, "tags must not contain commas"},
		"tag too long":                 {shop.Profile{Tags: []string{long[:102]}}, "tags must have 1 to 50 characters, not 51"},
		"too many tags":                {shop.Profile{Tags: strings.Split("abcdefghijklmnopqrstu", "")}, "tags must have at most 20 items"},
		"page":                         {shop.Profile{ContactURL: "https://example.com/rex?x=1#y"}, ""},
		"address":                      {shop.Profile{ContactURL: "mailto:shop@example.com?subject=Rex"}, ""},
		"page without TLS":             {shop.Profile{ContactURL: "http://example.com/"}, "contactUrl must be an https: URL or a mailto: address"},
		"script":                       {shop.Profile{ContactURL: "javascript:alert(1)"}, "contactUrl must be an https: URL or a mailto: address"},
		"page of nobody":               {shop.Profile{ContactURL: "https:///x"}, "contactUrl must be an https: URL or a mailto: address"},
		"microchip":                    {shop.Profile{Microchip: "276098106ABCdef"}, ""},
		"short microchip":              {shop.Profile{Microchip: "27609810"}, "microchip must have 9 to 15 letters and digits"},
		"microchip of other digits":    {shop.Profile{Microchip: "٢٧٦٠٩"}, "microchip must have 9 to 15 letters and digits"},
		"several problems":             {shop.Profile{Sex: "x", Location: " "}, "sex must be one of female, male, location must have at least one character that is not a space"},
	} {
		if got := c.profile.Problems(profileDay).String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A change is merged into the profile, written once, and reported by an event that does not contain internal members.
func TestProfileChangesAreMerged(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	update := func(change shop.ProfileChange) shop.Profile {
		t.Helper()
		return must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, change, nil))(t)
	}
	first := update(shop.ProfileChange{
		Description: new("a\r\nb"), Breeds: &[]string{"Beagle"}, Mixed: new(shop.No), Tags: &[]string{"Calm", " calm", "CALM ", "big"},
		Traits: map[shop.Trait]shop.Answer{shop.Neutered: shop.Yes, shop.Vaccinated: shop.No}, Notes: new("secret note"), Location: new("secret place"),
		Microchip: new("276098106123456"), Published: new(true),
	})
	equal(t, "the description", first.Description, "a\nb")
	equal(t, "the tags", strings.Join(first.Tags, "|"), "Calm|big")
	equal(t, "what is read", string(must(s.Profile(t.Context(), pet.ID))(t).AppendJSON(nil)), string(first.AppendJSON(nil)))

	second := update(shop.ProfileChange{Traits: map[shop.Trait]shop.Answer{shop.Vaccinated: shop.Unknown, shop.HouseTrained: shop.Yes}, Notes: new("")})
	equal(t, "the traits", second.Traits, shop.Traits{shop.Neutered: shop.Yes, shop.HouseTrained: shop.Yes})
	equal(t, "the breed", second.Breeds[0], "Beagle")
	equal(t, "the notes", second.Notes, "")
	third := update(shop.ProfileChange{NoTraits: true, Traits: map[shop.Trait]shop.Answer{shop.GoodWithDogs: shop.No}})
	equal(t, "the traits", third.Traits, shop.Traits{shop.GoodWithDogs: shop.No})
	again := update(shop.ProfileChange{Breeds: &[]string{"Beagle"}})
	equal(t, "the time of a change that changes nothing", again.UpdatedAt, third.UpdatedAt)

	filter := shop.EventFilter{Types: []shop.EventType{shop.ProfileUpdated}}
	events := must(s.ListEvents(t.Context(), shop.Caller{}, filter, shop.PageRequest{Limit: 10}))(t).Items
	equal(t, "the number of events", len(events), 3)
	for _, event := range events {
		equal(t, "the subject", event.Subject, "pets/1/profile")
		for _, internal := range []string{"secret", "276098106123456", "notes", "location", "microchip"} {
			if strings.Contains(string(event.Data), internal) {
				t.Errorf("an event contains %s: %s", internal, event.Data)
			}
		}
	}
	var data struct {
		Current, Previous struct {
			Pet       shop.Pet
			Published bool
			Breeds    []string
			UpdatedAt *time.Time
		}
	}
	check(t, json.Unmarshal(events[0].Data, &data))
	equal(t, "the animal", data.Previous.Pet, pet)
	equal(t, "the profile before", data.Previous.Published || data.Previous.UpdatedAt != nil, false)
	equal(t, "the profile after", data.Current.Published && data.Current.Breeds[0] == "Beagle" && data.Current.UpdatedAt.Equal(first.UpdatedAt), true)
}

// A profile from which everything was removed is as one that was never written.
func TestEmptiedProfileHasNoTime(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	pet := s.AddPet(t, "Rex", 1, "")
	written := must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Mixed: new(shop.No)}, nil))(t)
	equal(t, "the time of a profile", written.UpdatedAt.IsZero(), false)
	emptied := must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Mixed: new(shop.Unknown)}, nil))(t)
	equal(t, "the empty profile", string(emptied.AppendJSON(nil)), `{"pet":{"id":1,"name":"Rex","categoryId":1},"published":false}`)
	equal(t, "what is read", string(must(s.Profile(t.Context(), pet.ID))(t).AppendJSON(nil)), string(emptied.AppendJSON(nil)))
}

// A change fails without writing anything if the animal or the precondition is missing.
func TestProfileChangeIsRefused(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	pet := s.AddPet(t, "Rex", 1, "")
	never := shop.Precondition[shop.Profile](func(shop.Profile) bool { return false })
	_, err := s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID+1, shop.ProfileChange{}, never)
	wantCode(t, err, shop.NotFound)
	_, err = s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Color: new("red")}, never)
	wantCode(t, err, shop.PreconditionFailed)
	_, err = s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Color: new("red"), Sex: new(shop.Sex("x"))}, nil)
	wantCode(t, err, shop.ValidationFailed)
	equal(t, "the time of the profile", must(s.Profile(t.Context(), pet.ID))(t).UpdatedAt.IsZero(), true)
}

// The feed and the webhooks of clients that name no types do not contain types that came after version 1.1.
func TestLaterEventTypesMustBeNamed(t *testing.T) {
	t.Parallel()
	profile := shop.StoredEvent{NewEvent: shop.NewEvent{Type: shop.ProfileUpdated}}
	equal(t, "everything", shop.EventFilter{}.Matches(profile), true)
	equal(t, "what is known", shop.EventFilter{Known: true}.Matches(profile), false)
	equal(t, "a public type", shop.ProfileUpdated.IsPublic(), true)
	s := shoptest.Open(t, shoptest.Options{})
	hook := must(s.CreateWebhook(t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://example.com/"}))(t)
	named := must(s.CreateWebhook(t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://example.com/", Types: []shop.EventType{shop.ProfileUpdated}}))(t)
	pet := s.AddPet(t, "Rex", 1, "")
	must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Color: new("red")}, nil))(t)
	check(t, s.Store.Publish(t.Context()))
	got := map[int64][]shop.EventType{}
	shoptest.Deliver(t, s.Service, func(m shop.Message) shop.Attempt {
		got[m.WebhookID] = append(got[m.WebhookID], m.EventType)
		return shop.Attempt{At: time.Now(), Status: 204}
	})
	for id, want := range map[int64]string{hook.ID: "category.created pet.created", named.ID: "profile.updated"} {
		var types []string
		for _, t := range got[id] {
			types = append(types, string(t))
		}
		equal(t, "the events that were sent", strings.Join(types, " "), want)
	}
}

// The text for the tag of a page differs whenever the JSON of a profile does.
func TestTaggedTextDiffersLikeTheProfile(t *testing.T) {
	t.Parallel()
	photo := func(name, alt string) shop.Photo { return shop.Photo{Name: name, Alt: alt} }
	day := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	profiles := []shop.Profile{{}, {UpdatedAt: day}, {UpdatedAt: day.Add(time.Microsecond)}, {Pet: shop.Pet{Name: "Rex"}}, {Pet: shop.Pet{Status: shop.Sold}}}
	for _, photos := range [][]shop.Photo{
		{photo("a", "")}, {photo("b", "")}, {photo("a", ""), photo("b", "")}, {photo("b", ""), photo("a", "")}, {photo("a", "x")}, {photo("a", "y")}, {photo("a", "y b")},
		{photo("a", "y"), photo("b", "")}, {photo("a", ""), photo("b", "y")},
	} {
		profiles = append(profiles, shop.Profile{Photos: photos})
	}
	for i := range reflect.TypeFor[shop.Profile]().NumField() {
		for _, text := range []string{"x", "y", `x","y`} {
			var p shop.Profile
			switch field := reflect.ValueOf(&p).Elem().Field(i); value := field.Addr().Interface().(type) {
			case *bool:
				*value = true
			case *[]string:
				*value = []string{text}
			case *shop.Answer:
				*value = shop.AnswerOf(text == "x")
			case *shop.Price:
				value.Amount = text
			case *shop.Traits:
				value[len(text)] = shop.Yes
			default:
				if field.Kind() == reflect.String {
					field.SetString(text)
				}
			}
			profiles = append(profiles, p)
		}
	}
	documents, tagged := map[string]bool{}, map[string]bool{}
	for _, p := range profiles {
		documents[string(p.AppendJSON(nil))], tagged[string(p.AppendTagged(nil))] = true, true
	}
	equal(t, "the number of texts", len(tagged), len(documents))
	equal(t, "there are many", len(documents) > 50, true)
}
