package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"animalstore/client"
	"animalstore/internal/shop"
)

// profileFlags are the flags of pets set that change the profile of an animal.
type profileFlags struct {
	Description        *string           `group:"Profile:" placeholder:"TEXT" help:"Description; may have several lines."`
	Breed              []string          `group:"Profile:" sep:"none" placeholder:"BREED" help:"Breed; can be given twice."`
	Mixed              *string           `group:"Profile:" placeholder:"YES/NO" help:"Whether it is a mix of breeds: yes or no."`
	Sex                *string           `group:"Profile:" placeholder:"SEX" help:"female or male."`
	BirthDate          *string           `group:"Profile:" name:"birth-date" placeholder:"DATE" help:"Date of birth, such as 2024-05-31."`
	BirthDateEstimated *string           `group:"Profile:" name:"birth-date-estimated" placeholder:"YES/NO" help:"Whether the date of birth is an estimate: yes or no."`
	Size               *string           `group:"Profile:" placeholder:"SIZE" help:"small, medium, large or extra-large."`
	Color              *string           `group:"Profile:" placeholder:"TEXT" help:"Colour."`
	Price              *string           `group:"Profile:" placeholder:"PRICE" help:"Amount and currency, such as \"250.00 EUR\"."`
	ArrivalDate        *string           `group:"Profile:" name:"arrival-date" placeholder:"DATE" help:"Date of arrival, such as 2026-01-31."`
	Trait              map[string]string `group:"Profile:" placeholder:"TRAIT=YES/NO" help:"neutered, vaccinated, houseTrained, specialNeeds, goodWithDogs, goodWithCats or goodWithChildren, with yes or no; can be repeated."`
	Tag                []string          `group:"Profile:" placeholder:"TAG" help:"Tag; can be repeated, and replaces all earlier tags."`
	ContactURL         *string           `group:"Profile:" name:"contact-url" placeholder:"URL" help:"Where to ask for it: an https: URL or a mailto: address."`
	Microchip          *string           `group:"Profile:" placeholder:"NUMBER" help:"Number of its microchip (internal)."`
	Location           *string           `group:"Profile:" placeholder:"TEXT" help:"Where it is (internal)."`
	Notes              *string           `group:"Profile:" placeholder:"TEXT" help:"Notes (internal); may have several lines."`
	Remove             []string          `group:"Profile:" placeholder:"MEMBER" help:"Member of the profile to remove, such as price or traits.neutered; can be repeated."`
}

// removableMembers are the members of a profile that --remove accepts, beside single traits.
var removableMembers = []string{
	"description", "breeds", "mixed", "sex", "birthDate", "birthDateEstimated", "size", "color", "price", "arrivalDate", "traits", "tags",
	"contactUrl", "microchip", "location", "notes",
}

// update returns the change that the flags describe and whether there is any.
func (f profileFlags) update() (u client.ProfileUpdate, given bool, err error) {
	u = client.ProfileUpdate{
		Description: f.Description, Breeds: f.Breed, Sex: (*client.Sex)(f.Sex), BirthDate: f.BirthDate, Size: (*client.Size)(f.Size), Color: f.Color,
		ArrivalDate: f.ArrivalDate, Tags: f.Tag, ContactURL: f.ContactURL, Microchip: f.Microchip, Location: f.Location, Notes: f.Notes, Remove: f.Remove,
	}
	problems := []string{
		valueProblem("--description", f.Description, shop.DescriptionProblem), valuesProblem("--breed", f.Breed, shop.ShortTextProblem),
		valueProblem("--sex", f.Sex, shop.SexProblem), valueProblem("--birth-date", f.BirthDate, shop.DateProblem), valueProblem("--size", f.Size, shop.SizeProblem),
		valueProblem("--color", f.Color, shop.ShortTextProblem), valueProblem("--arrival-date", f.ArrivalDate, shop.DateProblem),
		valuesProblem("--tag", f.Tag, shop.TagProblem), valueProblem("--contact-url", f.ContactURL, shop.ContactURLProblem),
		valueProblem("--microchip", f.Microchip, shop.MicrochipProblem), valueProblem("--location", f.Location, shop.ShortTextProblem),
		valueProblem("--notes", f.Notes, shop.DescriptionProblem), valuesProblem("--remove", f.Remove, removeProblem),
		valueProblem("--price", f.Price, priceProblem),
		valueProblem("--mixed", f.Mixed, yesProblem), valueProblem("--birth-date-estimated", f.BirthDateEstimated, yesProblem),
	}
	if f.Price != nil {
		u.Price = new(client.Price(parsePrice(*f.Price)))
	}
	u.Mixed, u.BirthDateEstimated = isYes(f.Mixed), isYes(f.BirthDateEstimated)
	for _, name := range slices.Sorted(maps.Keys(f.Trait)) {
		text := f.Trait[name]
		if u.Traits == nil {
			u.Traits = &client.Traits{}
		}
		trait := traitField(u.Traits, name)
		if trait == nil {
			problems = append(problems, fmt.Sprintf("--trait: there is no trait %s", name))
			continue
		}
		problems = append(problems, valueProblem("--trait "+name, &text, yesProblem))
		*trait = isYes(&text)
	}
	if err := checkFlags(problems...); err != nil {
		return u, false, err
	}
	patch, err := json.Marshal(u)
	if err != nil { // the values are valid, so a member is both set and removed
		return u, false, usagef("a member that is set cannot be removed with --remove; leave one of the two out")
	}
	return u, string(patch) != "{}", nil
}

// traitField returns the field for a trait, or nil if there is no such trait.
func traitField(t *client.Traits, name string) **bool {
	return map[string]**bool{
		"neutered": &t.Neutered, "vaccinated": &t.Vaccinated, "houseTrained": &t.HouseTrained, "specialNeeds": &t.SpecialNeeds,
		"goodWithDogs": &t.GoodWithDogs, "goodWithCats": &t.GoodWithCats, "goodWithChildren": &t.GoodWithChildren,
	}[name]
}

// valueProblem checks the value of an optional flag. The function check returns what is wrong with it, or "" if it is valid.
func valueProblem(flag string, value *string, check func(string) string) string {
	if value == nil {
		return ""
	}
	if reason := check(*value); reason != "" {
		return flag + " " + reason
	}
	return ""
}

// valuesProblem is like valueProblem, for a flag that can be repeated.
func valuesProblem(flag string, values []string, check func(string) string) string {
	for _, value := range values {
		if problem := valueProblem(flag, &value, check); problem != "" {
			return problem
		}
	}
	return ""
}

func removeProblem(member string) string {
	name, isTrait := strings.CutPrefix(member, "traits.")
	if isTrait && traitField(&client.Traits{}, name) != nil || slices.Contains(removableMembers, member) {
		return ""
	}
	return "must be one of " + strings.Join(removableMembers, ", ") + ", or a single trait such as traits.neutered"
}

func yesProblem(text string) string {
	if text == "yes" || text == "no" {
		return ""
	}
	return "must be yes or no"
}

func isYes(text *string) *bool {
	if text == nil {
		return nil
	}
	return new(*text == "yes")
}

// parsePrice splits a price such as 250.00 EUR into its amount and its currency. It does not check them.
func parsePrice(text string) shop.Price {
	amount := strings.TrimRightFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	return shop.Price{Amount: amount, Currency: strings.ToUpper(strings.TrimSpace(text[len(amount):]))}
}

func priceProblem(text string) string { return firstReason(parsePrice(text).Problems()) }

// optionalPriceProblem checks the value of a flag --price. An empty value is the default.
func optionalPriceProblem(price string) string {
	if price == "" {
		return ""
	}
	return valueProblem("--price", &price, priceProblem)
}

// optionalDateProblem checks a date that is the value of a flag. An empty value is the default.
func optionalDateProblem(flag, date string) string {
	if date == "" {
		return ""
	}
	return valueProblem(flag, &date, shop.DateProblem)
}

// priceText formats a price for people. It returns "" if there is none.
func priceText(price *client.Price) string {
	if price == nil {
		return ""
	}
	return price.Amount + " " + price.Currency
}

func firstReason(problems shop.Problems) string {
	for _, reason := range problems.All() {
		return reason
	}
	return ""
}

// setProfile changes the profile of an animal, unless somebody else changes it at the same time, and describes the change.
func (p *petsSet) setProfile(ctx context.Context, t terminal, c *client.Client, update client.ProfileUpdate) error {
	before, err := c.GetProfile(ctx, p.ID)
	if err != nil {
		return err
	}
	after, err := c.UpdateProfile(ctx, p.ID, update, client.IfMatch(before.ETag))
	if client.IsCode(err, client.CodePreconditionFailed) {
		return codedError{errConflict("the profile of animal", p.ID, "pets show"), exitRefused}
	}
	if err != nil {
		return err
	}
	changed := describeChange(toJSON(after), toJSON(before), timeFlag{})
	if changed == "" {
		return p.printResult(t, after, "The profile of animal %d, %s, already had these values.", after.Pet.ID, after.Pet.Name)
	}
	return p.printResult(t, after, "Changed the profile of animal %d, %s: %s.", after.Pet.ID, after.Pet.Name, changed)
}

// profileLines returns the members of a profile that are set, for people to read. The photos come last, in their order.
func profileLines(p client.Profile) (lines [][]string) {
	add := func(name, value string) {
		if value == "" {
			return
		}
		for line := range strings.SplitSeq(value, "\n") {
			lines = append(lines, []string{name, line})
			name = "" // further lines belong to the same member
		}
	}
	answer := func(value *bool, yes, no string) string {
		switch {
		case value == nil:
			return ""
		case *value:
			return yes
		}
		return no
	}
	add("PUBLISHED", answer(&p.Published, "yes", "no"))
	breeds := strings.Join(p.Breeds, ", ")
	add("BREED", strings.TrimPrefix(breeds+answer(p.Mixed, ", mixed", ""), ", "))
	add("SEX", string(p.Sex))
	add("BORN", strings.TrimSpace(p.BirthDate+answer(p.BirthDateEstimated, " (estimated)", "")))
	add("SIZE", string(p.Size))
	add("COLOR", p.Color)
	add("PRICE", priceText(p.Price))
	add("ARRIVED", p.ArrivalDate)
	if p.Traits != nil {
		var traits []string
		for _, trait := range shop.AllTraits() {
			if text := answer(*traitField(p.Traits, trait.String()), trait.String(), "not "+trait.String()); text != "" {
				traits = append(traits, text)
			}
		}
		add("TRAITS", strings.Join(traits, ", "))
	}
	add("TAGS", strings.Join(p.Tags, ", "))
	add("CONTACT", p.ContactURL)
	add("MICROCHIP", p.Microchip)
	add("LOCATION", p.Location)
	add("TEXT", p.Description)
	add("NOTES", p.Notes)
	for _, photo := range p.Photos {
		add(fmt.Sprint("PHOTO ", photo.ID), strings.TrimSuffix(fmt.Sprintf("%s, %s, %s", photo.URLs.Large, photoSize(photo), photo.Alt), ", "))
	}
	return lines
}

type petsPublish struct {
	storeFlags
	IDs []int64 `arg:"" name:"id" help:"IDs of the animals, as shown by pets list."`
}

func (p *petsPublish) Run(ctx context.Context, t terminal) error {
	return p.publish(ctx, t, p.IDs, true, "Published animal %d, %s.")
}

type petsUnpublish struct {
	storeFlags
	IDs []int64 `arg:"" name:"id" help:"IDs of the animals, as shown by pets list."`
}

func (p *petsUnpublish) Run(ctx context.Context, t terminal) error {
	return p.publish(ctx, t, p.IDs, false, "Animal %d, %s, is no longer published.")
}

// publish sets whether profiles are published.
func (f *storeFlags) publish(ctx context.Context, t terminal, ids []int64, published bool, done string) error {
	return f.write(ctx, func(c *client.Client) error {
		return forEachID(ctx, t, ids, func(id int64) error {
			profile, err := c.UpdateProfile(ctx, id, client.ProfileUpdate{Published: &published})
			if err != nil {
				return err
			}
			return f.printResult(t, profile, done, id, profile.Pet.Name)
		})
	})
}
