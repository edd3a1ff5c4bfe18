package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

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

// Change only some of an animal's fields.
func ExampleClient_UpdatePet() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1})
	if err != nil {
		log.Fatal(err)
	}
	pet, err = c.UpdatePet(ctx, pet.ID, client.PetUpdate{Status: new(client.PetAvailable)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pet.Name, pet.Status)
	// Output: Rex available
}

// Change an animal only if nobody else has changed it since it was last read.
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
	// {"id":1,"name":"Rex","categoryId":1,"status":"available"}
	// {"id":2,"name":"Mia","categoryId":2}
}
