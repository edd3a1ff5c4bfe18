package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"animalstore/client"
)

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

// Receive a message about every sale at your own URL.
func ExampleClient_CreateWebhook() {
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

	sales := make(chan client.Order, 10) // buffered, because a message may arrive more than once
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
		w.WriteHeader(http.StatusNoContent)
		if order, _, err := event.Order(); err == nil && order != nil {
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

// Receive messages from a webhook, verify each of them, and process each only once.
func ExampleVerifyWebhook() {
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" // the secret that CreateWebhook returned

	var mu sync.Mutex
	done := map[string]bool{} // a real program stores these ids together with its results
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "The body cannot be read.", http.StatusBadRequest)
			return
		}
		event, err := client.VerifyWebhook(r.Header, body, secret)
		if err != nil {
			http.Error(w, "The message is not from the shop.", http.StatusUnauthorized)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if id := r.Header.Get("Webhook-Id"); !done[id] {
			done[id] = true
			fmt.Println(event.Type, event.Subject)
		}
		w.WriteHeader(http.StatusNoContent) // respond to repeated messages, too, because the service would otherwise send them again
	})

	// The service sends a message and then repeats it, as it does if the response is lost. An attacker sends
	// a forged message.
	header := sign("evt_7", time.Now(), []byte(message), secret)
	for _, body := range []string{message, message, `{"id":"8","type":"pet.deleted","subject":"pets/1"}`} {
		request := httptest.NewRequest("POST", "/hook", bytes.NewReader([]byte(body)))
		request.Header = header
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		fmt.Println(response.Code)
	}
	// Output:
	// pet.created pets/1
	// 204
	// 204
	// 401
}
