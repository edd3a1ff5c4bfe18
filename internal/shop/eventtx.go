package shop

import (
	"context"
	"strconv"
	"strings"
)

// eventTx is the write transaction that rules work with. It records an event with every mutation. The store's
// own mutations are a named field, not embedded: a new method of Mutations does not compile until eventTx
// records it.
type eventTx struct {
	BookkeepingTx
	mutations Mutations
	actor     string
}

var _ Mutations = (*eventTx)(nil)

// system is the actor of changes without a principal: expired holds and commands on the command line.
const system = "system"

type actorKey struct{}

// WithPrincipal returns a context whose changes are recorded with the principal as their actor.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, actorKey{}, p.Actor())
}

func actorOf(ctx context.Context) string {
	if actor, _ := ctx.Value(actorKey{}).(string); actor != "" {
		return actor
	}
	return system
}

// keyOf returns the id of the key that an actor names; ok is false for every other actor.
func keyOf(actor string) (id int64, ok bool) {
	text, ok := strings.CutPrefix(actor, "keys/")
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil
}

// asSystem runs a change with system as its actor.
func (tx *eventTx) asSystem(change func() error) error {
	actor := tx.actor
	defer func() { tx.actor = actor }()
	tx.actor = system
	return change()
}

// record writes the event of a change. current is nil after a deletion, previous is nil for a new resource.
func (tx *eventTx) record(what EventType, subject string, current, previous any) error {
	return tx.InsertEvents([]NewEvent{tx.event(what, subject, current, previous)})
}

func (tx *eventTx) event(what EventType, subject string, current, previous any) NewEvent {
	return NewEvent{Type: what, Subject: subject, Actor: tx.actor, Data: eventData(current, previous)}
}

func (p Pet) subject() string      { return subject("pets/", p.ID) }
func (c Category) subject() string { return subject("categories/", c.ID) }
func (o Order) subject() string    { return subject("store/orders/", o.ID) }
func (k Key) subject() string      { return subject("keys/", k.ID) }
func (w Webhook) subject() string  { return subject("webhooks/", w.ID) }

func subject(path string, id int64) string { return path + strconv.FormatInt(id, 10) }

func (tx *eventTx) InsertPet(n NewPet) (Pet, error) {
	pet, err := tx.mutations.InsertPet(n)
	if err != nil {
		return Pet{}, err
	}
	return pet, tx.InsertEvents([]NewEvent{pet.created(tx.actor)})
}

func (tx *eventTx) InsertPets(n []NewPet) ([]Pet, error) {
	pets, err := tx.mutations.InsertPets(n)
	if err != nil {
		return nil, err
	}
	events := make([]NewEvent, len(pets))
	for i, pet := range pets {
		events[i] = pet.created(tx.actor)
	}
	return pets, tx.InsertEvents(events)
}

func (tx *eventTx) UpdatePet(before, after Pet) error {
	if err := tx.mutations.UpdatePet(before, after); err != nil {
		return err
	}
	return tx.record(PetUpdated, after.subject(), after, before)
}

func (tx *eventTx) DeletePet(pet Pet) error {
	if err := tx.mutations.DeletePet(pet); err != nil {
		return err
	}
	return tx.record(PetDeleted, pet.subject(), nil, pet)
}

func (tx *eventTx) EnsureCategory(id int64) (created bool, err error) {
	if created, err = tx.mutations.EnsureCategory(id); err != nil || !created {
		return created, err
	}
	category := Category{ID: id}
	return true, tx.record(CategoryCreated, category.subject(), category, nil)
}

func (tx *eventTx) EnsureCategories(ids []int64) (created []int64, err error) {
	if created, err = tx.mutations.EnsureCategories(ids); err != nil {
		return nil, err
	}
	events := make([]NewEvent, len(created))
	for i, id := range created {
		category := Category{ID: id}
		events[i] = tx.event(CategoryCreated, category.subject(), category, nil)
	}
	return created, tx.InsertEvents(events)
}

func (tx *eventTx) InsertCategory(category Category) error {
	if err := tx.mutations.InsertCategory(category); err != nil {
		return err
	}
	return tx.record(CategoryCreated, category.subject(), category, nil)
}

func (tx *eventTx) UpdateCategory(before, after Category) error {
	if err := tx.mutations.UpdateCategory(before, after); err != nil {
		return err
	}
	return tx.record(CategoryUpdated, after.subject(), after, before)
}

func (tx *eventTx) DeleteCategory(category Category) error {
	if err := tx.mutations.DeleteCategory(category); err != nil {
		return err
	}
	return tx.record(CategoryDeleted, category.subject(), nil, category)
}

// orderEvents maps the new status of an order to the event that reports it.
var orderEvents = map[OrderStatus]EventType{
	Placed: OrderPlaced, Approved: OrderApproved, Delivered: OrderDelivered, Cancelled: OrderCancelled, Expired: OrderExpired,
}

func (tx *eventTx) InsertOrder(order Order) (Order, error) {
	order, err := tx.mutations.InsertOrder(order)
	if err != nil {
		return Order{}, err
	}
	return order, tx.record(orderEvents[order.Status], order.subject(), order, nil)
}

func (tx *eventTx) UpdateOrder(before, after Order) error {
	if err := tx.mutations.UpdateOrder(before, after); err != nil {
		return err
	}
	return tx.record(orderEvents[after.Status], after.subject(), after, before)
}

func (tx *eventTx) InsertKey(key Key) (Key, error) {
	key, err := tx.mutations.InsertKey(key)
	if err != nil {
		return Key{}, err
	}
	return key, tx.record(KeyCreated, key.subject(), key, nil)
}

func (tx *eventTx) SetHint(before Key, hint string) error {
	if err := tx.mutations.SetHint(before, hint); err != nil {
		return err
	}
	after := before
	after.Hint = hint
	return tx.record(KeyRotated, after.subject(), after, before)
}

func (tx *eventTx) DeleteKey(key Key) error {
	if err := tx.mutations.DeleteKey(key); err != nil {
		return err
	}
	return tx.record(KeyRevoked, key.subject(), nil, key)
}

func (tx *eventTx) InsertWebhook(hook Webhook) (Webhook, error) {
	hook, err := tx.mutations.InsertWebhook(hook)
	if err != nil {
		return Webhook{}, err
	}
	return hook, tx.record(WebhookCreated, hook.subject(), hook, nil)
}

func (tx *eventTx) UpdateWebhook(before, after Webhook) error {
	if err := tx.mutations.UpdateWebhook(before, after); err != nil {
		return err
	}
	return tx.record(WebhookUpdated, after.subject(), after, before)
}

func (tx *eventTx) DeleteWebhook(hook Webhook) error {
	if err := tx.mutations.DeleteWebhook(hook); err != nil {
		return err
	}
	return tx.record(WebhookDeleted, hook.subject(), nil, hook)
}
