package shop

import "strconv"

// eventTx is the write transaction used by the shop's rules. It records an event for every mutation. The
// store's mutations are not embedded but held in a named field. Therefore, if a method is added to Mutations,
// the code does not compile until eventTx implements that method.
type eventTx struct {
	BookkeepingTx
	mutations   Mutations
	actor       string
	traceparent string // "" if the request is not traced
}

var _ Mutations = (*eventTx)(nil)

// asSystem runs a change whose events are recorded with system as their actor.
func (tx *eventTx) asSystem(change func() error) error {
	actor := tx.actor
	defer func() { tx.actor = actor }()
	tx.actor = system
	return change()
}

// resource is anything that an event can report on. Its subject is its path, such as pets/7.
type resource interface{ subject() string }

// record stores the event for a change. If the change failed, record stores nothing and returns err, the
// error from the change. current is nil if the resource was deleted. previous is nil if the resource is new.
func (tx *eventTx) record(err error, what EventType, current, previous resource) error {
	if err != nil {
		return err
	}
	return tx.InsertEvents(tx.event(what, current, previous))
}

// InsertEvents stores events together with the traceparent of the request that caused them.
func (tx *eventTx) InsertEvents(events ...NewEvent) error {
	if tx.traceparent != "" {
		for i := range events {
			events[i].Data = addTraceparent(events[i].Data, tx.traceparent)
		}
	}
	return tx.BookkeepingTx.InsertEvents(events...)
}

func (tx *eventTx) event(what EventType, current, previous resource) NewEvent {
	changed := current
	if changed == nil {
		changed = previous
	}
	return NewEvent{Type: what, Subject: changed.subject(), Actor: tx.actor, Data: eventData(current, previous)}
}

func (p Pet) subject() string      { return subject("pets/", p.ID) }
func (c Category) subject() string { return subject("categories/", c.ID) }
func (o Order) subject() string    { return subject("store/orders/", o.ID) }
func (k Key) subject() string      { return subject("keys/", k.ID) }
func (w Webhook) subject() string  { return subject("webhooks/", w.ID) }

func subject(path string, id int64) string { return path + strconv.FormatInt(id, 10) }

func (tx *eventTx) UpdateSettings(before, after Settings) error {
	return tx.record(tx.mutations.UpdateSettings(before, after), StoreUpdated, after, before)
}

func (tx *eventTx) InsertPets(n ...NewPet) ([]Pet, error) {
	pets, err := tx.mutations.InsertPets(n...)
	if err != nil {
		return nil, err
	}
	events := make([]NewEvent, len(pets))
	for i, pet := range pets {
		events[i] = pet.created(tx.actor)
	}
	return pets, tx.InsertEvents(events...)
}

func (tx *eventTx) UpdatePets(updates ...PetUpdate) error {
	if err := tx.mutations.UpdatePets(updates...); err != nil {
		return err
	}
	events := make([]NewEvent, len(updates))
	for i, u := range updates {
		events[i] = tx.event(PetUpdated, u.After, u.Before)
	}
	return tx.InsertEvents(events...)
}

// UpdatePet is UpdatePets for a single animal.
func (tx *eventTx) UpdatePet(before, after Pet) error {
	return tx.UpdatePets(PetUpdate{Before: before, After: after})
}

func (tx *eventTx) DeletePet(pet Pet) error {
	return tx.record(tx.mutations.DeletePet(pet), PetDeleted, nil, pet)
}

func (tx *eventTx) RestorePet(pet Pet) error {
	return tx.record(tx.mutations.RestorePet(pet), PetRestored, pet, nil)
}

func (tx *eventTx) UpdateProfiles(updates ...ProfileUpdate) error {
	if err := tx.mutations.UpdateProfiles(updates...); err != nil {
		return err
	}
	events := make([]NewEvent, len(updates))
	for i, u := range updates {
		events[i] = tx.event(ProfileUpdated, u.After, u.Before)
	}
	return tx.InsertEvents(events...)
}

func (tx *eventTx) EnsureCategories(ids ...int64) (created []int64, err error) {
	if created, err = tx.mutations.EnsureCategories(ids...); err != nil || len(created) == 0 {
		return nil, err
	}
	events := make([]NewEvent, len(created))
	for i, id := range created {
		events[i] = tx.event(CategoryCreated, Category{ID: id}, nil)
	}
	return created, tx.InsertEvents(events...)
}

func (tx *eventTx) InsertCategories(categories ...Category) error {
	if err := tx.mutations.InsertCategories(categories...); err != nil {
		return err
	}
	events := make([]NewEvent, len(categories))
	for i, category := range categories {
		events[i] = tx.event(CategoryCreated, category, nil)
	}
	return tx.InsertEvents(events...)
}

func (tx *eventTx) UpdateCategory(before, after Category) error {
	return tx.record(tx.mutations.UpdateCategory(before, after), CategoryUpdated, after, before)
}

func (tx *eventTx) DeleteCategory(category Category) error {
	return tx.record(tx.mutations.DeleteCategory(category), CategoryDeleted, nil, category)
}

// orderEvents maps the new status of an order to the type of the event that reports the change.
var orderEvents = map[OrderStatus]EventType{
	Placed: OrderPlaced, Approved: OrderApproved, Delivered: OrderDelivered, Cancelled: OrderCancelled, Expired: OrderExpired,
}

func (tx *eventTx) InsertOrder(order Order) (Order, error) {
	order, err := tx.mutations.InsertOrder(order)
	return order, tx.record(err, orderEvents[order.Status], order, nil)
}

func (tx *eventTx) UpdateOrder(before, after Order) error {
	return tx.record(tx.mutations.UpdateOrder(before, after), orderEvent(before, after), after, before)
}

// orderEvent returns the type of the event that reports a change of an order.
func orderEvent(before, after Order) EventType {
	if after.Status == before.Status || after.LastChange.IsUndo {
		return OrderUpdated
	}
	return orderEvents[after.Status]
}

func (tx *eventTx) InsertKey(key Key) (Key, error) {
	key, err := tx.mutations.InsertKey(key)
	return key, tx.record(err, KeyCreated, key, nil)
}

func (tx *eventTx) SetHint(before Key, hint string) error {
	after := before
	after.Hint = hint
	return tx.record(tx.mutations.SetHint(before, hint), KeyRotated, after, before)
}

func (tx *eventTx) DeleteKey(key Key) error {
	return tx.record(tx.mutations.DeleteKey(key), KeyRevoked, nil, key)
}

func (tx *eventTx) InsertWebhook(hook Webhook) (Webhook, error) {
	hook, err := tx.mutations.InsertWebhook(hook)
	return hook, tx.record(err, WebhookCreated, hook, nil)
}

func (tx *eventTx) UpdateWebhook(before, after Webhook) error {
	return tx.record(tx.mutations.UpdateWebhook(before, after), WebhookUpdated, after, before)
}

func (tx *eventTx) DeleteWebhook(hook Webhook) error {
	return tx.record(tx.mutations.DeleteWebhook(hook), WebhookDeleted, nil, hook)
}
