package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"animalstore/client"
)

// An animal is added, ordered and sold.
func Example() {
	shop, closeShop := serveExample() // a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	c, err := client.New(shop.URL, shop.Key)
	if err != nil {
		log.Fatal(err)
	}
	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable})
	if err != nil {
		log.Fatal(err)
	}
	order, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: "web-17"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID}); client.IsCode(err, client.CodePetNotAvailable) {
		fmt.Println("Another customer was faster.")
	}
	if order, err = c.ApproveOrder(ctx, order.ID); err != nil {
		log.Fatal(err)
	}
	if order, err = c.DeliverOrder(ctx, order.ID); err != nil {
		log.Fatal(err)
	}
	if pet, err = c.GetPet(ctx, pet.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println(order.Reference, order.Status, pet.Name, pet.Status)
	// Output:
	// Another customer was faster.
	// web-17 delivered Rex sold
}

// Iterate over all matching animals on all pages.
func ExampleClient_Pets() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	for _, name := range []string{"Rex", "Mia", "Max"} {
		if _, err := c.CreatePet(ctx, client.NewPet{Name: name, CategoryID: 7}); err != nil {
			log.Fatal(err)
		}
	}
	for pet, err := range c.Pets(ctx, client.PetQuery{CategoryID: new(int64(7)), Text: "m"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.ID, pet.Name)
	}
	// Output:
	// 3 Max
	// 2 Mia
}

// Fetch the animals one page at a time.
func ExampleClient_ListPets() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	for _, name := range []string{"Rex", "Mia", "Max"} {
		if _, err := c.CreatePet(ctx, client.NewPet{Name: name, CategoryID: 1}); err != nil {
			log.Fatal(err)
		}
	}
	query := client.PetQuery{Limit: 2}
	for page := 1; ; page++ {
		pets, next, err := c.ListPets(ctx, query)
		if err != nil {
			log.Fatal(err)
		}
		for _, pet := range pets {
			fmt.Println("page", page, pet.Name)
		}
		if next == "" {
			break
		}
		query.Cursor = next
	}
	// Output:
	// page 1 Max
	// page 1 Mia
	// page 2 Rex
}

// Change only some of an animal's fields, and only if nobody else has changed it since it was last read.
func ExampleIfMatch() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	seen, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"Max", "Bo"} {
		pet, err := c.UpdatePet(ctx, seen.ID, client.PetUpdate{Name: &name}, client.IfMatch(seen.ETag))
		if client.IsCode(err, client.CodePreconditionFailed) {
			fmt.Println("The animal has changed in the meantime.")
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.Name)
	}
	// Output:
	// Max
	// The animal has changed in the meantime.
}

// If a program chooses its own idempotency key, a request takes effect only once, even if the program
// restarts and sends the request again.
func ExampleIdempotencyKey() {
	shop, closeShop := serveExample() // a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	for range 2 {
		c, err := client.New(shop.URL, shop.Key)
		if err != nil {
			log.Fatal(err)
		}
		pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1}, client.IdempotencyKey("delivery 4711"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.ID, pet.Name)
	}
	// Output:
	// 1 Rex
	// 1 Rex
}

// Programs should check the code of an error. The message is for human readers.
func ExampleError() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	_, err := c.CreatePet(context.Background(), client.NewPet{CategoryID: 1})
	var e *client.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status, e.Code)
		fmt.Println(e.Message)
	}
	// Output:
	// 400 validation_failed
	// The body is not valid: name must have 1 to 200 characters, not 0.
}

// The secret of an API key is shown only once, when the key is created or rotated.
func ExampleClient_CreateKey() {
	shop, closeShop := serveExample() // a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	admin, err := client.New(shop.URL, shop.Key)
	if err != nil {
		log.Fatal(err)
	}
	key, err := admin.CreateKey(ctx, client.NewKey{Name: "The website", Scopes: []client.Scope{client.ScopePetsRead}})
	if errors.Is(err, client.ErrSecretLost) {
		key, err = admin.RotateKey(ctx, key.ID, 0)
	}
	if err != nil {
		log.Fatal(err)
	}
	website, err := client.New(shop.URL, key.Secret)
	if err != nil {
		log.Fatal(err)
	}
	_, err = website.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1})
	fmt.Println(client.IsCode(err, client.CodeInsufficientScope))
	// Output: true
}

// Import several animals in one call, then export all animals to a file.
func ExampleClient_ExportFile() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	// The program chooses the idempotency key, so it can safely be run again.
	imported, err := c.ImportPets(ctx, []client.NewPet{
		{Name: "Rex", CategoryID: 1, Status: client.PetAvailable},
		{Name: "Mia", CategoryID: 2},
	}, client.IdempotencyKey("delivery 4711"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(imported.Created, "animals")
	if _, err := c.ExportFile(ctx, client.NDJSON, os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 animals
	// {"id":1,"name":"Rex","categoryId":1,"status":"available","etag":"\"07641f62b71708b3bd0419297ff2ab76\""}
	// {"id":2,"name":"Mia","categoryId":2,"etag":"\"80e369ec0f38816921c502d133a51158\""}
}

// Keep track of the available animals by reading the current state and then following the changes.
func ExampleClient_Follow() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	last, err := c.LastEventID(ctx) // call this before reading the animals, so that no change in between is missed
	if err != nil {
		log.Fatal(err)
	}
	for pet, err := range c.Pets(ctx, client.PetQuery{Status: client.PetAvailable}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.Name, "is available")
	}

	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID}); err != nil {
		log.Fatal(err)
	}

	filter := client.EventFilter{Types: []client.EventType{client.EventPetCreated, client.EventPetUpdated, client.EventPetDeleted}}
	for event, err := range c.Follow(ctx, last, filter) {
		var reset *client.ResetError
		if errors.As(err, &reset) {
			fmt.Println("Events are missing: read all animals again.")
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		pet, before, err := event.Pet()
		if err != nil {
			log.Fatal(err)
		}
		last = event.ID // store this id to continue from here after a restart
		switch {
		case before == nil:
			fmt.Println(pet.Name, "arrived and is", pet.Status)
		case pet == nil:
			fmt.Println(before.Name, "has left")
		default:
			fmt.Println(pet.Name, "was", before.Status, "and is now", pet.Status)
			return // end the example here, because Follow would wait for more events
		}
	}
	// Output:
	// Rex arrived and is available
	// Rex was available and is now pending
}

// Receive a message about every sale at your own URL, verify each message, and process each only once.
func ExampleVerifyWebhook() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	hook, err := c.CreateWebhook(ctx, client.NewWebhook{
		URL:   "http://" + listener.Addr().String() + "/animals", // use https outside a private network
		Types: []client.EventType{client.EventOrderDelivered},
	})
	if err != nil {
		log.Fatal(err)
	}

	var mu sync.Mutex
	done := map[string]bool{} // a real program stores these ids together with its results
	sales := make(chan client.Order, 1)
	receiver := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "The body cannot be read.", http.StatusBadRequest)
			return
		}
		event, err := client.VerifyWebhook(r.Header, body, hook.Secret)
		if err != nil {
			http.Error(w, "The message is not from the shop.", http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent) // also respond to a repeated message, or the service would send it again
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("Webhook-Id")
		if order, _, err := event.Order(); err == nil && order != nil && !done[id] {
			done[id] = true
			sales <- *order
		}
	})}
	go receiver.Serve(listener)
	defer receiver.Close()

	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable})
	if err != nil {
		log.Fatal(err)
	}
	order, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: "web-17"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.ApproveOrder(ctx, order.ID); err != nil {
		log.Fatal(err)
	}
	if _, err := c.DeliverOrder(ctx, order.ID); err != nil {
		log.Fatal(err)
	}
	sold := <-sales
	fmt.Println(sold.Reference, "is", sold.Status)
	// Output: web-17 is delivered
}
