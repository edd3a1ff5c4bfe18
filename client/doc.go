// Package client is the Go client of the animalstore service, a catalogue of individual animals.
//
// A first program, which lists the available animals. The key comes from `animalstore keys create`, or from
// the first start of the service on a terminal:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//
//		"animalstore/client"
//	)
//
//	func main() {
//		c, err := client.New("http://127.0.0.1:8080/v1", os.Getenv("ANIMALSTORE_KEY"))
//		if err != nil {
//			log.Fatal(err)
//		}
//		for pet, err := range c.Pets(context.Background(), client.PetQuery{Status: client.PetAvailable}) {
//			if err != nil {
//				log.Fatal(err)
//			}
//			fmt.Println(pet.ID, pet.Name)
//		}
//	}
//
// In your own module, first say where this one is: `go mod edit -replace animalstore=FOLDER`. Then run
// `go get animalstore/client`.
//
// Create one [Client] and share it; it is safe for concurrent use. It has a method for every operation of the
// service except the deprecated one, which [Client.GetPet] does not need:
//
//	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable})
//	...
//	order, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID})
//
// # Lists
//
// Methods such as [Client.Pets], [Client.Orders] and [Client.Events] return iterators that fetch pages as
// needed. The loop can stop at any time; an error is the last value it receives. To fetch single pages with
// cursors, use [Client.ListPets] and similar methods. An item that does not change while a list is read is
// returned exactly once, whatever happens to others.
//
// Many animals can be imported as a list ([Client.ImportPets]) or as a file ([Client.ImportFile]), and
// exported as a file ([Client.ExportFile]).
//
// # Changes
//
// An update changes only the fields that it sets: they are pointers, and nil means unchanged. With [IfMatch]
// and an animal's ETag, an update fails instead of overwriting a change that the caller has not seen. If
// several clients order one animal at the same time, one gets it and the others get [CodePetNotAvailable].
//
// # Errors
//
// A request that the service rejects returns an *[Error] with one of the codes below; [IsCode] tests for one:
//
//	if client.IsCode(err, client.CodePetNotAvailable) {
//		...
//	}
//
// Any other error means that no response arrived, because the connection failed or the context ended, or that
// nothing was sent, because an argument was invalid. If there was no response, or its status is 500 or
// higher, the change may or may not have been made; see [MayBeDone].
//
// # Retries
//
// A call is retried a few times with growing pauses ([WithRetries]) when the connection fails, when the
// service or a proxy is overloaded (429, 502, 503, 504; Retry-After is honoured), and while an earlier
// request with the same [IdempotencyKey] is running. This is safe: every POST carries an idempotency key, so
// it takes effect once however often it is sent, and setting or deleting the same thing twice changes
// nothing. If the response to a deletion was lost, and the retry gets 404, the call succeeds. A delayed
// attempt may still arrive after its retry, and after later changes, which it would then overwrite: [IfMatch]
// prevents that. A call never waits past the deadline of its context; it returns the error that it would have
// retried.
//
// A program that may be restarted in the middle of its work should choose its own [IdempotencyKey] for each
// POST.
//
// # Events
//
// The service records every change as an event, in order and without gaps. [Client.Follow] returns an
// iterator that waits for new events and reconnects by itself:
//
//	for event, err := range c.Follow(ctx, last, client.EventFilter{}) {
//		...
//	}
//
// Store the ID of the last event that was processed, and continue from there after a restart. To load the
// current state and stay up to date, call [Client.LastEventID] first, then read the lists, then follow the
// events after that id.
//
// # Webhooks
//
// A program that the service can reach does not need to poll: [Client.CreateWebhook] makes the service send
// events to it. The receiver needs no Client; [VerifyWebhook] checks that a message came from the service,
// and returns its event.
package client
