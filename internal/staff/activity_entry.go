package staff

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// activityEntry describes one change in words.
type activityEntry struct {
	At       time.Time
	Type     shop.EventType
	Actor    string // the actor of the event, such as keys/3
	Person   string // the name of the actor, or "" if an order expired
	Text     []activityText
	PetID    int64 // 0 if the change is not about an animal
	Pet      string
	OrderID  int64 // 0 if the change is not about an order
	Customer string
	From, To string           // the status of the animal before and after, if it has changed
	alike    alike            // what the entry has in common with others, or the zero value
	Parts    [][]activityText // the descriptions of the changes that this entry stands for, if there are several
}

// activityText is a part of a sentence. It is a link if Path is set and a time if At is set.
type activityText struct {
	Text string
	Path string
	At   time.Time
	// Short is true for a link whose text must stay on one line.
	Short bool
}

// Icon returns the name of the symbol for the change.
func (e activityEntry) Icon() string {
	switch e.Type {
	case shop.PetCreated:
		return "add"
	case shop.PetDeleted:
		return "remove"
	case shop.PetRestored:
		return "restore"
	case shop.OrderPlaced:
		return "orders"
	case shop.OrderApproved, shop.OrderDelivered:
		return "check"
	case shop.OrderCancelled:
		return "close"
	case shop.OrderExpired:
		return "clock"
	}
	switch kind, _, _ := strings.Cut(string(e.Type), "."); kind {
	case "category":
		return "categories"
	case "key":
		return "user"
	case "webhook":
		return "webhooks"
	}
	return "edit"
}

// Sentence returns the description as plain text.
func (e activityEntry) Sentence() string {
	var text strings.Builder
	for _, part := range e.Text {
		text.WriteString(part.Text)
	}
	return strings.TrimSpace(e.Person + " " + text.String())
}

// resourceState is the state of a resource of any kind. It has only the members that descriptions use.
type resourceState struct {
	ID            int64
	Name          string
	CategoryID    int64
	Status        string
	PetID         int64
	Reference     string
	PickupDate    string
	Price         shop.Price
	HoldExpiresAt time.Time
	URL           string
	Enabled       bool
	// The other fields belong to a profile.
	Pet       shop.Pet
	Published bool
	Photos    []struct{ ID int64 }
}

// change is an event whose data has been decoded.
type change struct {
	shop.Event
	now, was       *resourceState // the state after and before the change; nil if there is none
	petNow, petWas *resourceState // the animal after and before a step of an order; nil if there is none
}

// state returns the state after the change. If there is none, it returns the state before the change.
func (c change) state() resourceState {
	for _, state := range []*resourceState{c.now, c.was} {
		if state != nil {
			return *state
		}
	}
	return resourceState{}
}

func newChange(event shop.Event) change {
	var data struct{ Current, Previous *resourceState }
	json.Unmarshal(event.Data, &data) // cannot fail, because the service itself wrote the data
	return change{Event: event, now: data.Current, was: data.Previous}
}

// joinSteps decodes events, which must be sorted newest first. A step of an order that changes the animal's status
// has two events. joinSteps merges them into one change.
func joinSteps(events []shop.Event) (changes []change) {
	for _, event := range events {
		changes = append(changes, newChange(event))
	}
	for i := range changes {
		pet := changes[i]
		if pet.Type != shop.PetUpdated || pet.now == nil || pet.was == nil || pet.now.Name != pet.was.Name || pet.now.CategoryID != pet.was.CategoryID {
			continue
		}
		// The other event of the step must be the next older event about this animal or one of its orders.
		for j := i + 1; j < len(changes); j++ {
			step := &changes[j]
			if step.Subject == pet.Subject {
				break
			}
			if step.now == nil || step.now.PetID != pet.now.ID {
				continue
			}
			changed := step.was == nil || step.was.Status != step.now.Status
			if step.Actor == pet.Actor && changed && string(shop.OrderStatus(step.now.Status).PetStatus()) == pet.now.Status {
				step.petNow, step.petWas = pet.now, pet.was
				changes[i].Type = "" // deleted below
			}
			break
		}
	}
	return slices.DeleteFunc(changes, func(c change) bool { return c.Type == "" })
}

// activityNames holds the names and settings that descriptions need.
type activityNames struct {
	people     map[string]string
	pets       map[int64]string
	categories map[int64]shop.Category
	location   *time.Location
	word       func(string) string      // see Pages.word
	status     func(shop.Status) string // see Pages.statusWord

	mayOpenOrders bool // whether the user may open the pages of orders
}

func (x *exchange) loadActivityNames(changes []change) (names activityNames, err error) {
	var actors []string
	var pets, categories []int64
	for _, c := range changes {
		actors = append(actors, c.Actor)
		for _, state := range []*resourceState{c.now, c.was} {
			switch kind, _, _ := strings.Cut(string(c.Type), "."); {
			case state == nil:
			case kind == "pet":
				categories = append(categories, state.CategoryID)
			case kind == "order" && c.petNow == nil:
				pets = append(pets, state.PetID)
			}
		}
	}
	ctx := x.r.Context()
	names.location, names.word, names.status = x.Service.Location(), x.word, x.statusWord
	names.mayOpenOrders = x.May(shop.OrdersRead)
	if names.people, err = x.Service.KeyNames(ctx, unique(actors)); err != nil {
		return names, err
	}
	if names.pets, err = x.Service.PetNames(ctx, unique(pets)); err != nil {
		return names, err
	}
	names.categories, err = x.Service.CategoriesByID(ctx, unique(categories))
	return names, err
}

// unique sorts values and removes duplicates.
func unique[T int64 | string](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}

// describe returns the description of a change.
func (n activityNames) describe(c change) activityEntry {
	e := activityEntry{At: c.Time, Actor: c.Actor, Person: actorName(c.Actor, n.people), Type: c.Type}
	kind, _, _ := strings.Cut(string(c.Type), ".")
	switch kind {
	case "pet":
		n.describePet(&e, c)
	case "order":
		n.describeOrder(&e, c)
	case "category":
		describeCategory(&e, c)
	case "key":
		verb := map[shop.EventType]string{shop.KeyCreated: "gave access to ", shop.KeyRotated: "made a new secret for ", shop.KeyRevoked: "removed the access of "}[c.Type]
		e.Text = []activityText{{Text: verb}, {Text: c.state().Name, Path: "/staff/people"}}
	case "webhook":
		describeWebhook(&e, c)
	case "store":
		e.Text = []activityText{{Text: "changed the "}, {Text: "settings", Path: "/staff/settings"}}
	case "profile":
		pet := c.state().Pet
		e.PetID, e.Pet = pet.ID, pet.Name
		verb := describeProfile(c)
		e.Text = []activityText{{Text: verb}, petLink(pet.ID, pet.Name)}
		switch verb {
		case addedPhoto, removedPhoto:
			e.alike = alike{verb: strings.TrimSuffix(verb, "a photo of "), many: "photo", rest: " of ", pet: petLink(pet.ID, pet.Name)}
		case changedProfile:
			e.alike = alike{verb: "made ", many: "change", rest: " to the profile of ", pet: petLink(pet.ID, pet.Name)}
		default:
			e.alike = alike{verb: verb}
		}
	default:
		e.Text = []activityText{{Text: string(c.Type) + " " + c.Subject}}
	}
	return e
}

// What can happen to a profile, besides being published.
const addedPhoto, removedPhoto, changedProfile = "added a photo of ", "removed a photo of ", "changed the profile of "

// describeProfile returns what happened to a profile. The name of the animal follows.
func describeProfile(c change) string {
	if c.was != nil && c.now != nil {
		switch photos := len(c.now.Photos) - len(c.was.Photos); {
		case c.now.Published && !c.was.Published:
			return "published "
		case c.was.Published && !c.now.Published:
			return "stopped publishing "
		case photos > 0:
			return addedPhoto
		case photos < 0:
			return removedPhoto
		}
	}
	return changedProfile
}

func (n activityNames) describePet(e *activityEntry, c change) {
	pet := c.state()
	e.PetID, e.Pet = pet.ID, pet.Name
	link := petLink(pet.ID, pet.Name)
	switch c.Type {
	case shop.PetCreated:
		e.Text = []activityText{{Text: "added "}, link, {Text: " to " + n.category(pet.CategoryID)}}
		e.To = pet.Status
		e.alike = alike{verb: "added ", rest: " to " + n.category(pet.CategoryID)}
	case shop.PetDeleted:
		e.Text = []activityText{{Text: "removed "}, link}
		e.alike = alike{verb: "removed "}
	case shop.PetRestored:
		e.Text = []activityText{{Text: "restored "}, link}
		e.alike = alike{verb: "restored "}
	default:
		if c.was == nil || c.now == nil {
			e.Text = []activityText{{Text: "changed "}, link}
			return
		}
		n.describePetUpdate(e, link, *c.was, *c.now)
	}
}

// describePetUpdate describes which members of an animal were changed, with the old and the new values.
func (n activityNames) describePetUpdate(e *activityEntry, link activityText, was, now resourceState) {
	e.From, e.To = was.Status, now.Status
	var changed []string
	if was.Name != now.Name {
		changed = append(changed, "name from “"+was.Name+"” to “"+now.Name+"”")
	}
	if was.CategoryID != now.CategoryID {
		changed = append(changed, "category from "+n.category(was.CategoryID)+" to "+n.category(now.CategoryID))
	}
	switch {
	case was.Status == now.Status:
		e.From, e.To = "", ""
	case was.Status == "":
		changed = append(changed, "status to "+n.status(shop.Status(now.Status)))
	default:
		changed = append(changed, "status from "+n.status(shop.Status(was.Status))+" to "+n.status(shop.Status(now.Status)))
	}
	switch {
	case len(changed) != 1:
		e.Text = []activityText{{Text: "changed "}, link, {Text: ": " + strings.Join(changed, ", ")}}
	case was.Name != now.Name:
		e.Text = []activityText{{Text: "renamed " + was.Name + " to "}, link}
	case was.CategoryID != now.CategoryID:
		e.alike = alike{verb: "moved ", rest: " to " + n.category(now.CategoryID)}
		e.Text = []activityText{{Text: "moved "}, link, {Text: " from " + n.category(was.CategoryID) + " to " + n.category(now.CategoryID)}}
	case was.Status == "":
		e.alike = alike{verb: "marked ", rest: " as " + n.status(shop.Status(now.Status))}
		e.Text = []activityText{{Text: "marked "}, link, {Text: " as " + n.status(shop.Status(now.Status))}}
	default:
		e.alike = alike{verb: "marked ", rest: " as " + n.status(shop.Status(now.Status))}
		e.Text = []activityText{{Text: "changed "}, link, {Text: " from " + n.status(shop.Status(was.Status)) + " to " + n.status(shop.Status(now.Status))}}
	}
}

func (n activityNames) describeOrder(e *activityEntry, c change) {
	order := c.state()
	e.OrderID, e.PetID, e.Customer = order.ID, order.PetID, order.Reference
	e.Pet = n.pets[order.PetID]
	if c.petNow != nil {
		e.Pet, e.From, e.To = c.petNow.Name, c.petWas.Status, c.petNow.Status
	}
	pet := petLink(order.PetID, e.Pet)
	number := activityText{Text: fmt.Sprint("order ", order.ID), Short: true}
	if n.mayOpenOrders {
		number.Path = orderPath(order.ID)
	}
	add := func(parts ...activityText) { e.Text = append(e.Text, parts...) }
	person := func(before string) {
		if order.Reference != "" {
			add(activityText{Text: before + order.Reference})
		}
	}
	dot := activityText{Text: " · "}
	switch c.Type {
	case shop.OrderPlaced:
		add(activityText{Text: "reserved "}, pet)
		person(" for ")
		add(dot, number)
	case shop.OrderApproved:
		add(activityText{Text: "approved "}, pet)
		person(" for ")
		add(dot, number)
	case shop.OrderDelivered:
		add(activityText{Text: "handed over "}, pet)
		person(" to ")
		add(dot, number)
	case shop.OrderCancelled:
		add(activityText{Text: "cancelled the reservation of "}, pet)
		person(" for ")
		add(dot, number)
	case shop.OrderExpired:
		e.Person = ""
		add(activityText{Text: "The reservation of "}, pet)
		person(" for ")
		add(activityText{Text: " expired"}, dot, number)
	default:
		n.describeOrderUpdate(e, c, pet, number)
	}
}

// describeOrderUpdate describes an undo, a change of an order's customer, a change of the end of its hold, or both.
func (n activityNames) describeOrderUpdate(e *activityEntry, c change, pet, number activityText) {
	if c.was == nil || c.now == nil {
		e.Text = []activityText{{Text: "changed "}, number}
		return
	}
	if c.was.Status != c.now.Status {
		undone := map[string]string{string(shop.Delivered): "hand-over", string(shop.Approved): "approval", string(shop.Cancelled): "cancellation"}[c.was.Status]
		e.Text = []activityText{{Text: "undid the " + undone + " of "}, pet, {Text: " · "}, number}
		return
	}
	e.Text = []activityText{{Text: "changed "}}
	add := func(parts ...activityText) {
		if len(e.Text) > 1 {
			e.Text = append(e.Text, activityText{Text: ", and "})
		}
		e.Text = append(e.Text, parts...)
	}
	if was, now := c.was.Reference, c.now.Reference; was != now {
		add(activityText{Text: "the note on "}, pet, activityText{Text: " from " + orNone(was) + " to " + orNone(now)})
	}
	if was, now := c.was.PickupDate, c.now.PickupDate; was != now {
		add(activityText{Text: "the pick-up of "}, pet, activityText{Text: " from " + orNoDay(was) + " to " + orNoDay(now)})
	}
	if was, now := c.was.Price, c.now.Price; was != now {
		add(activityText{Text: n.word("the price of ")}, pet, activityText{Text: " from " + orNothing(was) + " to " + orNothing(now)})
	}
	if was, now := c.was.HoldExpiresAt, c.now.HoldExpiresAt; !was.Equal(now) && !now.IsZero() {
		add(activityText{Text: "the hold on "}, pet, activityText{Text: " to end on "}, activityText{Text: formatTime(now.In(n.location)), At: now})
	}
	if len(e.Text) == 1 { // events do not contain customers
		add(activityText{Text: n.word("the customer of ")}, pet)
	}
	e.Text = append(e.Text, activityText{Text: " · "}, number)
}

// orNoDay returns a day in words, such as "Sat 21 Nov 2026".
func orNoDay(text string) string {
	day, err := shop.ParseDate(text)
	if err != nil {
		return "no day"
	}
	return day.UTC().Format("Mon 2 Jan 2006")
}

func orNothing(price shop.Price) string {
	if price == (shop.Price{}) {
		return "nothing"
	}
	return price.Currency + " " + price.Amount
}

// orNone returns a note in quotes, or "none".
func orNone(note string) string {
	if note == "" {
		return "none"
	}
	return "“" + note + "”"
}

func describeCategory(e *activityEntry, c change) {
	link := categoryLink(c.state())
	switch {
	case c.Type == shop.CategoryDeleted:
		link.Path = ""
		e.Text = []activityText{{Text: "removed "}, link}
	case c.was != nil:
		e.Text = []activityText{{Text: "renamed " + categoryLink(*c.was).Text + " to "}, link}
	default:
		e.Text = []activityText{{Text: "added "}, link}
	}
}

func categoryLink(category resourceState) activityText {
	text := "the category “" + category.Name + "”"
	if category.Name == "" {
		text = fmt.Sprint("category ", category.ID)
	}
	return activityText{Text: text, Path: fmt.Sprint("/staff/pets?category=", category.ID)}
}

func describeWebhook(e *activityEntry, c change) {
	state := c.state()
	verb := map[shop.EventType]string{shop.WebhookCreated: "added", shop.WebhookUpdated: "changed", shop.WebhookDeleted: "removed"}[c.Type]
	if c.was != nil && c.now != nil && c.was.Enabled != c.now.Enabled {
		verb = map[bool]string{true: "turned on", false: "turned off"}[c.now.Enabled]
	}
	host := state.URL
	// Show only the host, because the rest of the URL may contain a token.
	if address, err := url.Parse(state.URL); err == nil {
		host = address.Host
	}
	link := activityText{Text: host, Path: fmt.Sprint("/staff/webhooks/", state.ID)}
	if c.Type == shop.WebhookDeleted {
		link.Path = ""
	}
	e.Text = []activityText{{Text: verb + " the webhook to "}, link}
}

func (n activityNames) category(id int64) string { return categoryName(n.categories[id], id) }

func petLink(id int64, name string) activityText {
	if name == "" {
		name = fmt.Sprint("animal ", id)
	}
	return activityText{Text: name, Path: fmt.Sprint("/staff/pets/", id)}
}
