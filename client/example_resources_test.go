package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"animalstore/client"
)

// Name the categories of a shop, then list them.
func ExampleClient_Categories() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	if _, err := c.CreateCategory(ctx, "Dogs"); err != nil {
		log.Fatal(err)
	}
	if _, _, err := c.PutCategory(ctx, 7, "Cats"); err != nil { // PutCategory lets the program choose the id
		log.Fatal(err)
	}
	for category, err := range c.Categories(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(category.ID, category.Name)
	}
	// Output:
	// 1 Dogs
	// 7 Cats
}

// Find the open orders of a customer and extend their holds by three days.
func ExampleClient_Orders() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: "Zoë Miller"}); err != nil {
		log.Fatal(err)
	}
	for order, err := range c.Orders(ctx, client.OrderQuery{Status: client.OrderPlaced, Text: "zoe"}) {
		if err != nil {
			log.Fatal(err)
		}
		// Read the order again to get its ETag, because lists do not contain ETags.
		if order, err = c.GetOrder(ctx, order.ID); err != nil {
			log.Fatal(err)
		}
		later := order.HoldExpiresAt.Add(3 * 24 * time.Hour)
		changed, err := c.UpdateOrder(ctx, order.ID, client.OrderUpdate{HoldExpiresAt: &later}, client.IfMatch(order.ETag))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(order.Reference, changed.HoldExpiresAt.Sub(order.HoldExpiresAt))
	}
	// Output: Zoë Miller 72h0m0s
}

// Count the animals by status.
func ExampleClient_Inventory() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	if _, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable}); err != nil {
		log.Fatal(err)
	}
	inventory, err := c.Inventory(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(inventory.Available, "available,", inventory.Sold, "sold")
	// Output: 1 available, 0 sold
}

// List what happened to an animal and who did it.
func ExampleClient_Events() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID}); err != nil {
		log.Fatal(err)
	}
	history := client.EventFilter{Subject: fmt.Sprintf("pets/%d", pet.ID)}
	for event, err := range c.Events(ctx, client.EventQuery{EventFilter: history}) {
		if err != nil {
			log.Fatal(err)
		}
		pet, _, err := event.Pet()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Type, pet.Status, "by", event.Actor)
	}
	// Output:
	// pet.created available by configured
	// pet.updated pending by configured
}

// Check a file before importing it.
func ExampleClient_ImportFile() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	file := []byte("name,categoryId,status\nRex,1,available\nMia,2,\n")
	preview, err := c.CheckFile(ctx, client.CSV, file)
	if err != nil {
		log.Fatal(err) // the message names the first invalid rows
	}
	fmt.Println(preview.Created, "animals would be created")
	imported, err := c.ImportFile(ctx, client.CSV, file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(imported.Created, "animals were created")
	// Output:
	// 2 animals would be created
	// 2 animals were created
}

// Send a test message to a webhook and list the deliveries. Their attempts show how the receiver responded.
func ExampleClient_TestWebhook() {
	c, closeShop := exampleClient() // a client for a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	hook, err := c.CreateWebhook(ctx, client.NewWebhook{URL: "http://127.0.0.1:1/animals"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.TestWebhook(ctx, hook.ID); err != nil {
		log.Fatal(err)
	}
	for delivery, err := range c.Deliveries(ctx, hook.ID, client.DeliveryQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(delivery.EventType)
	}
	// Output: webhook.test
}
