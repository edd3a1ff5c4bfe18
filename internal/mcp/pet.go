package mcp

import (
	"context"
	"fmt"

	"animalstore/client"
)

func (set *toolSet) addPetTools() {
	add(set, "find_animals", "Find animals", client.ScopePetsRead, reads,
		"Lists animals, newest first. All filters combine with \"and\"; without any, it lists the whole catalogue. "+
			"If nextCursor is in the answer, call again with it as cursor and the same filters for the next page; "+
			"with text or several filters, a page can be short or empty although more follow. Use count_animals to count.",
		findAnimals)
	add(set, "get_animal", "Show an animal", client.ScopePetsRead, reads,
		"Shows one animal with its profile, the URLs of its photos and the name of its category. If the key may read them, also its latest orders and its history: "+
			"who changed what and when, newest first.",
		getAnimal)
	add(set, "count_animals", "Count the animals", client.ScopePetsRead, reads,
		"Counts all animals by status. Quick, however many there are.",
		countAnimals)
	add(set, "add_animal", "Add an animal", client.ScopePetsWrite, adds,
		"Adds an animal to the catalogue and returns it with its new id. Without a status it cannot be ordered; available puts it up for sale. "+
			"An unknown categoryId creates that category, unless the store accepts only known ones.",
		addAnimal)
	add(set, "change_animal", "Change an animal", client.ScopePetsWrite, changes,
		"Changes the name, category or status of an animal; what is not given stays. Needs the version that get_animal showed: the change is "+
			"made only if nobody has changed the animal since, and a repeated call changes nothing. After precondition_failed, "+
			"call get_animal: either the change is already there, or somebody else was faster. "+
			"While an order holds the animal, its status follows the order: use change_order.",
		changeAnimal)
}

type findAnimalsInput struct {
	Text       string           `json:"text,omitempty" jsonschema:"words that the name must contain, in any order; case and accents are ignored; with breed, sex, size or tag, a word may also be in a breed, the colour or a tag"`
	Status     client.PetStatus `json:"status,omitempty" jsonschema:"only animals with this status; available animals can be ordered"`
	CategoryID *int64           `json:"categoryId,omitempty" jsonschema:"only animals of this category; list_categories has the ids"`
	Breed      string           `json:"breed,omitempty" jsonschema:"words that a breed must contain, in any order"`
	Sex        client.Sex       `json:"sex,omitempty" jsonschema:"only animals of this sex"`
	Size       client.Size      `json:"size,omitempty" jsonschema:"only animals of this size"`
	Tag        string           `json:"tag,omitempty" jsonschema:"only animals with this tag, in any letter case"`
	Limit      limit            `json:"limit,omitempty" jsonschema:"how many animals at most; 20 unless given"`
	Cursor     string           `json:"cursor,omitempty" jsonschema:"the nextCursor of the previous page"`
}

type animalList struct {
	Animals    []client.Pet `json:"animals"`
	NextCursor string       `json:"nextCursor,omitempty" jsonschema:"where the next page starts; absent on the last page"`
}

func findAnimals(ctx context.Context, s session, in findAnimalsInput) (animalList, error) {
	if in.Breed != "" || in.Sex != "" || in.Size != "" || in.Tag != "" {
		return findByProfile(ctx, s, in)
	}
	pets, next, err := s.ListPets(ctx, client.PetQuery{
		Text: in.Text, Status: in.Status, CategoryID: in.CategoryID, Limit: in.Limit.orDefault(), Cursor: in.Cursor,
	})
	return animalList{nonNil(pets), next}, err
}

func (l animalList) text() string {
	return listText("animal", "animals", l.Animals, petText) + moreText(l.NextCursor)
}

func petText(p client.Pet) string {
	status := string(p.Status)
	if status == "" {
		status = "no status"
	}
	return fmt.Sprintf("animal %d: %q, category %d, %s", p.ID, p.Name, p.CategoryID, status)
}

type getAnimalInput struct {
	ID int64 `json:"id" jsonschema:"the id of the animal"`
}

type animalDetails struct {
	Animal         client.Pet     `json:"animal"`
	Version        version        `json:"version"`
	Category       string         `json:"category,omitempty" jsonschema:"the name of the category, if it has one"`
	Profile        client.Profile `json:"profile" jsonschema:"what the shop says of the animal"`
	ProfileVersion version        `json:"profileVersion"`
	Orders         []client.Order `json:"orders,omitempty" jsonschema:"the latest orders for the animal, newest first, at most 5"`
	History        []activity     `json:"history,omitempty" jsonschema:"the latest changes of the animal, newest first, at most 20"`
}

// latestOrders is the maximum number of an animal's orders that get_animal shows.
const latestOrders = 5

func getAnimal(ctx context.Context, s session, in getAnimalInput) (details animalDetails, err error) {
	if details.Animal, err = s.GetPet(ctx, in.ID); err != nil {
		return details, err
	}
	details.Version = versionOf(details.Animal.ETag)
	category, err := s.GetCategory(ctx, details.Animal.CategoryID)
	if err != nil && !client.IsCode(err, client.CodeNotFound) { // the category may have been deleted since the animal was read
		return details, err
	}
	details.Category = category.Name
	if details.Profile, err = s.GetProfile(ctx, in.ID); err != nil {
		return details, err
	}
	details.ProfileVersion = versionOf(details.Profile.ETag)
	if s.allows(client.ScopeOrdersRead) {
		details.Orders, _, err = s.ListOrders(ctx, client.OrderQuery{PetID: in.ID, Limit: latestOrders})
		if err != nil {
			return details, err
		}
	}
	if s.allows(client.ScopeEventsRead) {
		details.History, err = history(ctx, s, fmt.Sprintf("pets/%d", in.ID))
	}
	return details, err
}

func (d animalDetails) text() string {
	text := petText(d.Animal)
	if d.Category != "" {
		text += fmt.Sprintf(" (%q)", d.Category)
	}
	text += d.Version.text() + profileText(d.Profile) + ", profileVersion " + string(d.ProfileVersion) + photosText(d.Profile.Photos)
	for _, order := range d.Orders {
		text += "\n" + orderText(order)
	}
	return text + historyText(d.History)
}

type countAnimalsInput struct{}

type animalCounts struct {
	client.Inventory
	Total int64 `json:"total"`
}

func countAnimals(ctx context.Context, s session, _ countAnimalsInput) (animalCounts, error) {
	n, err := s.Inventory(ctx)
	return animalCounts{n, n.Available + n.Pending + n.Sold + n.Unspecified}, err
}

func (c animalCounts) text() string {
	return fmt.Sprintf("%d available, %d pending, %d sold, %d without a status, %d in total", c.Available, c.Pending, c.Sold, c.Unspecified, c.Total)
}

type addAnimalInput struct {
	Name           string           `json:"name" jsonschema:"the name, 1 to 200 characters"`
	CategoryID     int64            `json:"categoryId" jsonschema:"the id of the category; list_categories has the ids"`
	Status         client.PetStatus `json:"status,omitempty" jsonschema:"available, pending or sold; none unless given"`
	IdempotencyKey idempotencyKey   `json:"idempotencyKey" jsonschema:"a new random text, such as a UUID, for each animal to add; the same text again only to repeat a call whose result you did not get"`
}

// changedAnimal is the result of a tool that writes an animal.
type changedAnimal struct {
	Animal  client.Pet `json:"animal"`
	Version version    `json:"version"`
}

func addAnimal(ctx context.Context, s session, in addAnimalInput) (changedAnimal, error) {
	pet, err := s.CreatePet(ctx, client.NewPet{Name: in.Name, CategoryID: in.CategoryID, Status: in.Status}, client.IdempotencyKey(string(in.IdempotencyKey)))
	return changedAnimal{pet, versionOf(pet.ETag)}, err
}

func (c changedAnimal) text() string { return petText(c.Animal) + c.Version.text() }

type changeAnimalInput struct {
	ID         int64             `json:"id" jsonschema:"the id of the animal"`
	Version    version           `json:"version" jsonschema:"the version that get_animal, add_animal or change_animal returned for this animal"`
	Name       *string           `json:"name,omitempty" jsonschema:"the new name, 1 to 200 characters"`
	CategoryID *int64            `json:"categoryId,omitempty" jsonschema:"the id of the new category"`
	Status     *client.PetStatus `json:"status,omitempty" jsonschema:"the new status; a sold animal can only become available, and a status cannot be removed"`
}

func changeAnimal(ctx context.Context, s session, in changeAnimalInput) (changedAnimal, error) {
	pet, err := s.UpdatePet(ctx, in.ID, client.PetUpdate{Name: in.Name, CategoryID: in.CategoryID, Status: in.Status}, in.Version.condition())
	return changedAnimal{pet, versionOf(pet.ETag)}, err
}
