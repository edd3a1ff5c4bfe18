package demo

import (
	"fmt"
	"math/rand/v2"
	"time"

	"animalstore/internal/shop"
)

// animal is an animal that is about to arrive.
type animal struct {
	name     string
	category int // an index of categories
	breed    breed
}

// origins are sentences for the description: where an animal comes from, unless its category has its own.
var origins = []string{
	"came to us from a breeder nearby",
	"was brought in by a family that moved abroad",
	"grew up on a farm in the hills",
	"was born here in the shop",
	"lived with an elderly gentleman, who had to move",
}

// notes are texts for the notes, which only the staff sees.
var notes = []string{
	"The vet comes on Tuesday.",
	"Do not put into the window: too many people tap the glass.",
	"The previous owner asks for a photo now and then.",
	"Eats only the green pellets.\nThe supplier has none until Monday.",
	"Price agreed with Anna, no further discount.",
}

// profile returns what the shop says of an animal that has just arrived, and the colour of its illustration. It uses a
// source of randomness of its own, so that profiles have no influence on the history of the shop.
func (a animal) profile(random *rand.Rand, arrival time.Time) (change shop.ProfileChange, color string) {
	category := categories[a.category]
	one := func(texts []string) string { return texts[random.IntN(len(texts))] }
	oneIn := func(n int) bool { return random.IntN(n) == 0 }
	date := func(at time.Time) *string { return new(at.UTC().Format(time.DateOnly)) }

	months := 2 + int(float64(category.oldest-2)*random.Float64()*random.Float64()) // young animals are more frequent
	color = one(a.breed.colors)
	sex := shop.Sexes()[random.IntN(2)]
	price := a.breed.euros * (80 + random.IntN(41)) / 100
	if price > 100 {
		price -= price % 10
	}
	from, needs := category.origins, a.breed.home
	if from == nil {
		from = origins
	}
	if needs == "" {
		needs = one(category.texts[1])
	}
	subject := "It"
	if category.name != "Fish" { // nobody can tell their sex
		subject = pronoun(sex)
	}
	description := fmt.Sprintf("%s %s. %s %s.\n\n%[1]s %[5]s.", a.name, one(from), subject, one(category.texts[0]), needs)
	tags := []string{one(category.tags), one(category.tags)} // the service merges them if they are the same
	if a.breed.tag != "" {
		tags[1] = a.breed.tag
	}
	if months > category.oldest*2/3 {
		tags = append(tags, "senior")
	}
	change = shop.ProfileChange{
		Description: &description,
		Breeds:      &[]string{a.breed.name},
		BirthDate:   date(arrival.AddDate(0, -months, -random.IntN(28))),
		Size:        &a.breed.size,
		Color:       &color,
		Price:       &shop.Price{Amount: fmt.Sprintf("%d.00", price), Currency: "EUR"},
		ArrivalDate: date(arrival),
		Tags:        &tags,
		Location:    new(fmt.Sprintf("%s %d", category.homes, 1+random.IntN(9))),
		Traits:      map[shop.Trait]shop.Answer{},
	}
	for _, trait := range category.traits {
		rare := trait == shop.SpecialNeeds || trait == shop.Neutered && months < 6
		if !oneIn(5) { // otherwise, nobody knows
			change.Traits[trait] = shop.AnswerOf(oneIn(6) == rare)
		}
	}
	if category.name != "Fish" {
		change.Sex = &sex
	}
	if category.traits != nil && oneIn(4) {
		change.BirthDateEstimated = new(shop.Yes)
	}
	if category.name == "Dogs" || category.name == "Cats" {
		change.Microchip = new(fmt.Sprintf("276098%09d", random.IntN(1_000_000_000)))
		change.ContactURL = new("mailto:animals@shop.example.com")
		if oneIn(6) {
			change.Mixed = new(shop.Yes)
			if second := category.breeds[random.IntN(len(category.breeds))].name; second != a.breed.name {
				change.Breeds = &[]string{a.breed.name, second}
			}
		}
	}
	if oneIn(8) {
		change.Notes = new(one(notes))
	}
	return change, color
}

// pronoun returns the beginning of a sentence about an animal.
func pronoun(sex shop.Sex) string {
	if sex == shop.Female {
		return "She"
	}
	return "He"
}

// scheduleProfile schedules what the back office writes about an animal and the photos that it takes. Most profiles are
// published, but not before the animal has been examined.
func (s *simulation) scheduleProfile(pet shop.Pet, a animal, examined time.Time) {
	// Before the next animal arrives on the opening day, so that the first photos are those of the first animal.
	written := s.clock.at.Add(time.Duration(20+s.looks.IntN(60)) * time.Second)
	change, color := a.profile(s.looks, s.clock.at)
	if publish := s.looks.IntN(8) > 0; publish && pet.Status != "" {
		change.Published = &publish
	} else if publish {
		s.scheduleProfileChange(examined, pet, shop.ProfileChange{Published: &publish})
	}
	s.scheduleProfileChange(written, pet, change)
	if s.arrived%3 == 1 {
		s.schedulePhoto(written.Add(20*time.Second), pet, illustration{a.breed.drawing, color, false}, fmt.Sprintf("%s, %s, %s", a.name, a.breed.name, color))
	}
	if s.arrived%6 == 1 && categories[a.category].portraits {
		s.schedulePhoto(written.Add(30*time.Second), pet, illustration{a.breed.drawing, color, true}, a.name+" from near")
	}
}

func (s *simulation) scheduleProfileChange(when time.Time, pet shop.Pet, change shop.ProfileChange) {
	s.schedule(when, func() error {
		return s.actAs(s.anna, func(by shop.Caller) error {
			_, err := s.service.UpdateProfile(s.ctx, by, pet.ID, change, nil)
			return err
		})
	})
}

func (s *simulation) schedulePhoto(when time.Time, pet shop.Pet, shown illustration, alt string) {
	s.schedule(when, func() error {
		return s.actAs(s.anna, func(by shop.Caller) error {
			photo, err := s.service.AddPhoto(s.ctx, by, pet.ID, illustrations()[shown])
			if err == nil {
				_, err = s.service.UpdatePhoto(s.ctx, by, pet.ID, photo.ID, shop.PhotoChange{Alt: &alt}, nil)
			}
			return err
		})
	})
}
