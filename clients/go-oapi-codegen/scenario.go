// The scenario of clients/README.md with the client of oapi-codegen.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"scenario/animalstore"
)

// exact is 2^53 + 1, which a double cannot hold. Prism, which is written in JavaScript, would round it.
var exact int64 = 9007199254740993

// throughPrism says that requests go through a proxy that refuses those that do not match the document.
var throughPrism = os.Getenv("PRISM") != ""

var (
	ctx    = context.Background()
	client = newClient()
	// oapi-codegen generates no list of the values of an enumeration.
	eventTypes = []animalstore.EventType{
		animalstore.EventTypePetCreated, animalstore.EventTypePetUpdated, animalstore.EventTypePetDeleted,
		animalstore.EventTypePetRestored,
		animalstore.EventTypeCategoryCreated, animalstore.EventTypeCategoryUpdated, animalstore.EventTypeCategoryDeleted,
		animalstore.EventTypeOrderPlaced, animalstore.EventTypeOrderUpdated, animalstore.EventTypeOrderApproved, animalstore.EventTypeOrderDelivered,
		animalstore.EventTypeOrderCancelled, animalstore.EventTypeOrderExpired,
		animalstore.EventTypeKeyCreated, animalstore.EventTypeKeyRotated, animalstore.EventTypeKeyRevoked,
		animalstore.EventTypeWebhookCreated, animalstore.EventTypeWebhookUpdated, animalstore.EventTypeWebhookDeleted,
	}
)

func newClient() *animalstore.ClientWithResponses {
	return must(animalstore.NewClientWithResponses(os.Getenv("ANIMALSTORE_URL"),
		animalstore.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+os.Getenv("ANIMALSTORE_KEY"))
			return nil
		})))
}

func main() {
	log.SetFlags(log.Lshortfile)
	if throughPrism {
		exact -= 2
	}
	rex, other := useAnimals()
	useOrders(rex, other)
	useTheRest(other)
	events, types := readEvents(rex)
	check(slices.Equal(types, slices.Sorted(slices.Values(eventTypes))), types)
	fmt.Printf("passed: animals, pages, conditions, orders, files, errors, and %d events of %d types\n", events, len(types))
}

// must returns the value, or ends the program if there is an error.
func must[T any](value T, err error) T {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
	return value
}

// check ends the program unless ok.
func check(ok bool, got any) {
	if !ok {
		log.Output(2, fmt.Sprintf("unexpected: %+v", got))
		os.Exit(1)
	}
}

// found returns the value of a response, or ends the program if the response is another one.
func found[T any](value *T, body []byte) T {
	if value == nil {
		log.Output(2, "unexpected: "+string(body))
		os.Exit(1)
	}
	return *value
}

func refused(e *animalstore.Error, body []byte, status int, code animalstore.ErrorCode) {
	if e == nil || e.Status != status || e.Code != code {
		log.Output(2, fmt.Sprintf("want %d %s, got %s", status, code, body))
		os.Exit(1)
	}
}

// next returns a parameter of the next page's URL, or nil on the last page.
func next(link, parameter string) *string {
	match := regexp.MustCompile(`<([^>]+)>; rel="next"`).FindStringSubmatch(link)
	if match == nil {
		return nil
	}
	return new(must(url.Parse(match[1])).Query().Get(parameter))
}

func createPet(pet animalstore.NewPet) animalstore.Pet {
	response := must(client.CreatePetWithResponse(ctx, nil, pet))
	return found(response.JSON201, response.Body)
}

func createCategory(name string) animalstore.Category {
	response := must(client.CreateCategoryWithResponse(ctx, nil, animalstore.CategoryInput{Name: name}))
	return found(response.JSON201, response.Body)
}

func equal(a, b any) bool { return bytes.Equal(must(json.Marshal(a)), must(json.Marshal(b))) }

func useAnimals() (rex, other animalstore.Pet) {
	dogs := createCategory("Dogs")
	check(*dogs.Name == "Dogs", dogs)
	rex = createPet(animalstore.NewPet{Name: "Rex", CategoryId: exact, Status: new(animalstore.PetStatusAvailable)})
	check(rex.CategoryId == exact, rex)
	byCategory := must(client.ListPetsWithResponse(ctx, &animalstore.ListPetsParams{CategoryId: new(rex.CategoryId)}))
	check(equal(found(byCategory.JSON200, byCategory.Body), []animalstore.Pet{rex}), byCategory)

	created := []animalstore.Pet{rex}
	for n := range 4 {
		created = append(created, createPet(animalstore.NewPet{Name: fmt.Sprint("Dog ", n), CategoryId: dogs.Id}))
	}
	var seen []animalstore.Pet
	var sizes []int
	params := &animalstore.ListPetsParams{Limit: new(2)}
	for {
		page := must(client.ListPetsWithResponse(ctx, params))
		pets := found(page.JSON200, page.Body)
		seen, sizes = append(seen, pets...), append(sizes, len(pets))
		if params.Cursor = next(page.Headers200.Link, "cursor"); params.Cursor == nil {
			break
		}
	}
	slices.Reverse(seen)
	check(slices.Equal(sizes, []int{2, 2, 1}) && equal(seen, created), seen)

	byID := must(client.ListPetsWithResponse(ctx, &animalstore.ListPetsParams{Id: new([]int64{rex.Id})}))
	params2 := &animalstore.UpdatePetParams{IfMatch: new(byID.Headers200.ETag)}
	renamed := must(client.UpdatePetWithResponse(ctx, rex.Id, params2, animalstore.PetChange{Name: new("Rexina")}))
	rex = found(renamed.JSON200, renamed.Body)
	check(rex.Name == "Rexina" && rex.CategoryId == exact, rex)
	stale := must(client.UpdatePetWithResponse(ctx, rex.Id, params2, animalstore.PetChange{Name: new("Max")}))
	refused(stale.JSON412, stale.Body, 412, animalstore.ErrorCodePreconditionFailed)
	return rex, created[1]
}

func placeOrder(input animalstore.OrderInput) animalstore.Order {
	response := must(client.PlaceOrderWithResponse(ctx, nil, input))
	return found(response.JSON201, response.Body)
}

func updateOrder(id int64, status animalstore.OrderStatus) {
	response := must(client.UpdateOrderWithResponse(ctx, id, nil, animalstore.OrderChange{Status: &status}))
	check(found(response.JSON200, response.Body).Status == status, response)
}

func useOrders(rex, other animalstore.Pet) {
	first := placeOrder(animalstore.OrderInput{PetId: rex.Id, Reference: new("basket 4711")})
	check(first.Status == animalstore.Placed && first.HoldExpiresAt != nil, first)
	second := must(client.PlaceOrderWithResponse(ctx, nil, animalstore.OrderInput{PetId: rex.Id}))
	refused(second.JSON409, second.Body, 409, animalstore.ErrorCodePetNotAvailable)
	changed := must(client.UpdateOrderWithResponse(ctx, first.Id, nil, animalstore.OrderChange{Reference: new("basket 4712")}))
	check(*found(changed.JSON200, changed.Body).Reference == "basket 4712", changed)
	updateOrder(first.Id, animalstore.Approved)
	updateOrder(first.Id, animalstore.Delivered)

	available := must(client.UpdatePetWithResponse(ctx, other.Id, nil, animalstore.PetChange{Status: new(animalstore.PetStatusAvailable)}))
	found(available.JSON200, available.Body)
	updateOrder(placeOrder(animalstore.OrderInput{PetId: other.Id}).Id, animalstore.Cancelled)
	third := placeOrder(animalstore.OrderInput{PetId: other.Id})
	end := time.Now().Add(2 * time.Second).Truncate(time.Millisecond)
	shorter := must(client.UpdateOrderWithResponse(ctx, third.Id, nil, animalstore.OrderChange{HoldExpiresAt: &end}))
	check(found(shorter.JSON200, shorter.Body).HoldExpiresAt.Equal(end), shorter)
	for {
		order := must(client.GetOrderWithResponse(ctx, third.Id, nil))
		if found(order.JSON200, order.Body).Status == animalstore.Expired {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func useTheRest(other animalstore.Pet) {
	check(must(client.DeletePetWithResponse(ctx, other.Id, nil)).StatusCode() == 204, other)
	restored := must(client.RestorePetWithResponse(ctx, other.Id, nil))
	check(found(restored.JSON200, restored.Body).Name == other.Name, restored)
	cats := createCategory("Cats")
	kittens := must(client.PutCategoryWithResponse(ctx, cats.Id, nil, animalstore.CategoryInput{Name: "Kittens"}))
	found(kittens.JSON200, kittens.Body)
	check(must(client.DeleteCategoryWithResponse(ctx, cats.Id, nil)).StatusCode() == 204, cats)

	created := must(client.CreateKeyWithResponse(ctx, nil,
		animalstore.KeyInput{Name: "website", Scopes: []animalstore.Scope{animalstore.PetsRead}}))
	key := found(created.JSON201, created.Body)
	rotated := must(client.RotateKeyWithResponse(ctx, key.Id, nil, animalstore.Rotation{OverlapSeconds: new(0)}))
	check(*found(rotated.JSON200, rotated.Body).Key != *key.Key, rotated)
	check(must(client.RevokeKeyWithResponse(ctx, key.Id)).StatusCode() == 204, key)

	subscribed := must(client.CreateWebhookWithResponse(ctx, nil, animalstore.WebhookInput{
		Url: "https://shop.invalid/hook", Types: new([]animalstore.EventType{animalstore.EventTypeOrderPlaced})}))
	hook := found(subscribed.JSON201, subscribed.Body)
	check(hook.Secret != nil, hook)
	disabled := must(client.UpdateWebhookWithResponse(ctx, hook.Id, nil, animalstore.WebhookChange{Enabled: new(false)}))
	check(!found(disabled.JSON200, disabled.Body).Enabled, disabled)
	check(must(client.DeleteWebhookWithResponse(ctx, hook.Id, nil)).StatusCode() == 204, hook)

	file := strings.NewReader("name,categoryId,status\r\nBella,7,available\r\nLuna,7,\r\n")
	imported := must(client.ImportPetsWithBodyWithResponse(ctx, nil, "text/csv", file))
	check(found(imported.JSON200, imported.Body).Created == 2, imported)
	exported := string(must(client.ExportPetsCsvWithResponse(ctx)).Body)
	check(strings.HasPrefix(exported, "id,name,categoryId,status") && strings.Contains(exported, ",Luna,7,") &&
		strings.Contains(exported, fmt.Sprintf(",Rexina,%d,sold", exact)), exported)

	if !throughPrism {
		invalid := must(client.CreatePetWithResponse(ctx, nil, animalstore.NewPet{CategoryId: 1}))
		refused(invalid.JSON400, invalid.Body, 400, animalstore.ErrorCodeValidationFailed)
	}
	missing := must(client.GetOrderWithResponse(ctx, 999, nil))
	refused(missing.JSON404, missing.Body, 404, animalstore.ErrorCodeNotFound)
}

// readEvents reads all events and returns their number and their types.
func readEvents(rex animalstore.Pet) (n int, types []animalstore.EventType) {
	seen := map[animalstore.EventType]bool{}
	params := &animalstore.ListEventsParams{Limit: new(10)}
	for {
		page := must(client.ListEventsWithResponse(ctx, params))
		for _, event := range found(page.JSON200, page.Body) {
			seen[checkEvent(must(event.ValueByDiscriminator()), rex)] = true
			n++
		}
		if params.After = next(*page.Headers200.Link, "after"); params.After == nil {
			return n, slices.Sorted(maps.Keys(seen))
		}
	}
}

func checkEvent(event any, rex animalstore.Pet) (kind animalstore.EventType) {
	switch e := event.(type) {
	case animalstore.PetEvent:
		check(e.Data.Current != nil || e.Data.Previous != nil, e)
		if e.Subject == fmt.Sprint("pets/", rex.Id) && e.Type == animalstore.PetEventTypePetCreated {
			check(e.Data.Previous == nil && e.Data.Current.Name == "Rex" && e.Data.Current.CategoryId == exact, e)
		}
		return animalstore.EventType(e.Type)
	case animalstore.OrderEvent:
		check(e.Subject == fmt.Sprint("store/orders/", e.Data.Current.Id), e)
		return animalstore.EventType(e.Type)
	case animalstore.CategoryEvent:
		check(e.Data.Current != nil || e.Data.Previous != nil, e)
		return animalstore.EventType(e.Type)
	case animalstore.KeyEvent:
		check(e.Data.Current != nil || e.Data.Previous != nil, e)
		return animalstore.EventType(e.Type)
	case animalstore.WebhookEvent:
		check(e.Data.Current != nil || e.Data.Previous != nil, e)
		return animalstore.EventType(e.Type)
	}
	check(false, event)
	return ""
}
