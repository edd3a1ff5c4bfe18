package window

import (
	"cmp"
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// petPath returns the path of an animal's page.
func petPath(id int64) string { return root + "/pets/" + strconv.FormatInt(id, 10) }

// petData is the template data for the page of an animal.
type petData struct {
	shop.WindowAnimal
	Facts  []fact
	Traits []trait
	Tags   []choice
	Ask    []contact
	LD     template.JS
}

// fact is something that can be said of an animal in a word.
type fact struct {
	Label, Value string
	IsText       bool // whether somebody has typed the value
}

// trait says that an animal has a trait, or has not.
type trait struct {
	Label string
	No    bool
}

// contact is a way to ask about an animal.
type contact struct {
	Label   string
	URL     template.URL
	Primary bool
}

func (x *exchange) showPet(text string) error {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text != strconv.FormatInt(id, 10) {
		return errNoPage()
	}
	q, err := parseQuery(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	q = query{embed: q.embed}
	r, err := x.cached(petPath(id)+q.encode(), func(ctx context.Context, valid *shop.Validity) (*response, error) {
		animal, err := x.Service.WindowAnimal(ctx, shop.Preview(x.preview), id, valid)
		if err != nil {
			return nil, err
		}
		v := x.view(animal.Settings, q.embed)
		v.Today = animal.Today
		if animal.Gone {
			v.Title, v.Data = "This animal is not here any more", animal
			return x.page(http.StatusGone, "gone", v)
		}
		pet := animal.WindowPet
		v.Title, v.Canonical, v.Image = pet.Pet.Name, x.absolute(petPath(id)), x.cover(pet)
		v.Description = firstWords(cmp.Or(pet.Description, summary(pet, animal.Today)))
		v.Data = petData{animal, facts(pet, animal.Today), traits(pet), x.tagLinks(pet, q), contacts(animal.Settings, pet), x.linkedData(animal)}
		return x.page(http.StatusOK, "pet", v)
	})
	if err != nil {
		return err
	}
	return x.send(r)
}

func facts(p shop.WindowPet, today shop.Date) (facts []fact) {
	add := func(label, value string, isText bool) {
		if value != "" {
			facts = append(facts, fact{label, value, isText})
		}
	}
	add("Category", p.Category, true)
	add("Breed", web.Breeds(p.Breeds, p.Mixed), true)
	add("Sex", capitalized(string(p.Sex)), false)
	add("Age", age(p, today), false)
	add("Size", sizeWord(p.Size), false)
	add("Colour", p.Color, true)
	if arrival, err := shop.ParseDate(p.ArrivalDate); err == nil {
		add("Here since", arrival.UTC().Format("2 January 2006"), false)
	}
	return facts
}

// traitWords says what it means that an animal has a trait, and that it does not.
var traitWords = map[shop.Trait][2]string{
	shop.Neutered:         {"Neutered", "Not neutered"},
	shop.Vaccinated:       {"Vaccinated", "Not vaccinated"},
	shop.HouseTrained:     {"House-trained", "Not house-trained"},
	shop.SpecialNeeds:     {"Has special needs", ""},
	shop.GoodWithDogs:     {"Good with dogs", "Not with dogs"},
	shop.GoodWithCats:     {"Good with cats", "Not with cats"},
	shop.GoodWithChildren: {"Good with children", "Not with children"},
}

func traits(p shop.WindowPet) (traits []trait) {
	for _, t := range shop.AllTraits() {
		words := traitWords[t]
		switch p.Traits[t] {
		case shop.Yes:
			traits = append(traits, trait{words[0], false})
		case shop.No:
			if words[1] != "" {
				traits = append(traits, trait{words[1], true})
			}
		}
	}
	slices.SortStableFunc(traits, func(a, b trait) int { return cmp.Compare(number(a.No), number(b.No)) })
	return traits
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (x *exchange) tagLinks(p shop.WindowPet, q query) (links []choice) {
	for _, tag := range p.Tags {
		links = append(links, choice{Label: strings.TrimSpace(tag), URL: x.list(query{WindowFilter: shop.WindowFilter{Tags: []string{tag}}, embed: q.embed})})
	}
	return links
}

// contacts returns the ways to ask about an animal, the one of the animal itself first.
func contacts(s shop.Settings, p shop.WindowPet) (ways []contact) {
	add := func(label, url string) {
		ways = append(ways, contact{label, template.URL(url), len(ways) == 0})
	}
	switch {
	case strings.HasPrefix(p.ContactURL, "mailto:"):
		add("Write an e-mail", p.ContactURL)
	case p.ContactURL != "":
		add("Ask about this animal", p.ContactURL)
	}
	if digits := phoneNumber(s.Phone); digits != "" {
		add("Call "+s.Phone, "tel:"+digits)
	}
	if s.Email != "" && !strings.HasPrefix(p.ContactURL, "mailto:") {
		add("Write to "+s.Email, "mailto:"+mailAddress(s.Email)+"?subject="+escapeMail(p.Pet.Name))
	}
	return ways
}

// linkedData describes an animal in the vocabulary of schema.org.
func (x *exchange) linkedData(a shop.WindowAnimal) template.JS {
	type object = map[string]any
	p := a.WindowPet
	availability := "https://schema.org/InStock"
	if p.IsReserved() {
		availability = "https://schema.org/Reserved"
	}
	offer := object{"@type": "Offer", "availability": availability}
	if p.Price.Amount != "" {
		offer["price"], offer["priceCurrency"] = p.Price.Amount, p.Price.Currency
	}
	if a.Name != "" {
		offer["seller"] = object{"@type": "Organization", "name": a.Name}
	}
	product := object{"@context": "https://schema.org", "@type": "Product", "name": p.Pet.Name, "sku": strconv.FormatInt(p.Pet.ID, 10), "offers": offer}
	for name, value := range map[string]string{"description": p.Description, "category": p.Category, "color": p.Color, "url": x.absolute(petPath(p.Pet.ID))} {
		if value != "" {
			product[name] = value
		}
	}
	if url := x.absolute(petPath(p.Pet.ID)); url != "" {
		offer["url"] = url
	}
	var images []string
	for _, photo := range p.Photos {
		images = append(images, x.site+x.base+photo.URL(shop.LargePhoto))
	}
	if images != nil {
		product["image"] = images
	}
	text, err := json.Marshal(product) // it escapes the characters that end a script
	if err != nil {
		panic(err) // cannot happen, because it consists of texts
	}
	return template.JS(text)
}
