package shop

import (
	"context"
	"strconv"
	"strings"
)

// ledger is a transaction that enters every change with its event. All that changes the shop goes through it, so that
// nothing can change unseen.
type ledger struct {
	WriteTx
	actor string
}

// system is the actor of what nobody asked for: a hold that ran out, or work on the command line.
const system = "system"

type actorKey struct{}

// WithPrincipal returns a context under which changes are entered as the principal's.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, actorKey{}, p.Actor())
}

func actorOf(ctx context.Context) string {
	if actor, _ := ctx.Value(actorKey{}).(string); actor != "" {
		return actor
	}
	return system
}

// enter writes the event of a change: what it is now, and what it was before; nil where there is none.
func (l *ledger) enter(what EventType, subject string, current, previous any) error {
	return l.InsertEvent(l.event(what, subject, current, previous))
}

func (l *ledger) event(what EventType, subject string, current, previous any) NewEvent {
	return NewEvent{Type: what, Subject: subject, Actor: l.actor, Data: eventData(current, previous)}
}

// bySystem makes changes that nobody asked for.
func (l *ledger) bySystem(change func() error) error {
	actor := l.actor
	defer func() { l.actor = actor }()
	l.actor = system
	return change()
}

func (p Pet) subject() string      { return subject("pets/", p.ID) }
func (c Category) subject() string { return subject("categories/", c.ID) }
func (o Order) subject() string    { return subject("store/orders/", o.ID) }
func (k Key) subject() string      { return subject("keys/", k.ID) }
func (w Webhook) subject() string  { return subject("webhooks/", w.ID) }

func subject(of string, id int64) string {
	return string(strconv.AppendInt(append(make([]byte, 0, 32), of...), id, 10))
}

// keyOf is the id of the key that an actor stands for, and whether it does for one.
func keyOf(actor string) (id int64, ok bool) {
	text, ok := strings.CutPrefix(actor, "keys/")
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil
}

func (l *ledger) InsertPet(n NewPet) (Pet, error) {
	pet, err := l.WriteTx.InsertPet(n)
	if err != nil {
		return Pet{}, err
	}
	return pet, l.InsertEvent(l.petCreated(pet))
}

func (l *ledger) InsertPets(n []NewPet) ([]Pet, error) {
	pets, err := l.WriteTx.InsertPets(n)
	if err != nil {
		return nil, err
	}
	events := make([]NewEvent, len(pets))
	for i, pet := range pets {
		events[i] = l.petCreated(pet)
	}
	return pets, l.InsertEvents(events)
}

// petCreated is the event of a new animal. There are by far the most of these, so it is written as it is.
func (l *ledger) petCreated(pet Pet) NewEvent {
	data := pet.AppendJSON(append(make([]byte, 0, 192), `{"current":`...))
	return NewEvent{Type: PetCreated, Subject: pet.subject(), Actor: l.actor, Data: append(data, `,"previous":null}`...)}
}

func (l *ledger) UpdatePet(before, after Pet) error {
	if err := l.WriteTx.UpdatePet(before, after); err != nil {
		return err
	}
	return l.enter(PetUpdated, after.subject(), after, before)
}

func (l *ledger) DeletePet(pet Pet) error {
	if err := l.WriteTx.DeletePet(pet); err != nil {
		return err
	}
	return l.enter(PetDeleted, pet.subject(), nil, pet)
}

func (l *ledger) EnsureCategory(id int64) (created bool, err error) {
	if created, err = l.WriteTx.EnsureCategory(id); err != nil || !created {
		return created, err
	}
	category := Category{ID: id}
	return true, l.enter(CategoryCreated, category.subject(), category, nil)
}

func (l *ledger) EnsureCategories(ids []int64) (created []int64, err error) {
	if created, err = l.WriteTx.EnsureCategories(ids); err != nil {
		return nil, err
	}
	events := make([]NewEvent, len(created))
	for i, id := range created {
		category := Category{ID: id}
		events[i] = l.event(CategoryCreated, category.subject(), category, nil)
	}
	return created, l.InsertEvents(events)
}

func (l *ledger) InsertCategory(category Category) error {
	if err := l.WriteTx.InsertCategory(category); err != nil {
		return err
	}
	return l.enter(CategoryCreated, category.subject(), category, nil)
}

func (l *ledger) UpdateCategory(before, after Category) error {
	if err := l.WriteTx.UpdateCategory(before, after); err != nil {
		return err
	}
	return l.enter(CategoryUpdated, after.subject(), after, before)
}

func (l *ledger) DeleteCategory(category Category) error {
	if err := l.WriteTx.DeleteCategory(category); err != nil {
		return err
	}
	return l.enter(CategoryDeleted, category.subject(), nil, category)
}

func (l *ledger) InsertOrder(order Order) (Order, error) {
	order, err := l.WriteTx.InsertOrder(order)
	if err != nil {
		return Order{}, err
	}
	return order, l.enter(orderEvents[order.Status], order.subject(), order, nil)
}

func (l *ledger) UpdateOrder(before, after Order) error {
	if err := l.WriteTx.UpdateOrder(before, after); err != nil {
		return err
	}
	return l.enter(orderEvents[after.Status], after.subject(), after, before)
}

// orderEvents are what happens to an order when it takes a status.
var orderEvents = map[OrderStatus]EventType{
	Placed: OrderPlaced, Approved: OrderApproved, Delivered: OrderDelivered, Cancelled: OrderCancelled, Expired: OrderExpired,
}

func (l *ledger) InsertKey(key Key) (Key, error) {
	key, err := l.WriteTx.InsertKey(key)
	if err != nil {
		return Key{}, err
	}
	return key, l.enter(KeyCreated, key.subject(), key, nil)
}

func (l *ledger) SetHint(before Key, hint string) error {
	if err := l.WriteTx.SetHint(before, hint); err != nil {
		return err
	}
	after := before
	after.Hint = hint
	return l.enter(KeyRotated, after.subject(), after, before)
}

func (l *ledger) DeleteKey(key Key) error {
	if err := l.WriteTx.DeleteKey(key); err != nil {
		return err
	}
	return l.enter(KeyRevoked, key.subject(), nil, key)
}

func (l *ledger) InsertWebhook(hook Webhook) (Webhook, error) {
	hook, err := l.WriteTx.InsertWebhook(hook)
	if err != nil {
		return Webhook{}, err
	}
	return hook, l.enter(WebhookCreated, hook.subject(), hook, nil)
}

func (l *ledger) UpdateWebhook(before, after Webhook) error {
	if err := l.WriteTx.UpdateWebhook(before, after); err != nil {
		return err
	}
	return l.enter(WebhookUpdated, after.subject(), after, before)
}

func (l *ledger) DeleteWebhook(hook Webhook) error {
	if err := l.WriteTx.DeleteWebhook(hook); err != nil {
		return err
	}
	return l.enter(WebhookDeleted, hook.subject(), nil, hook)
}
