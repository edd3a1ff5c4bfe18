// Package client is the Go client for the animalstore service, a catalogue of individual animals.
//
// The following program lists the available animals. Create the API key with `animalstore keys create`, or
// use the key that the service shows when it is first started on a terminal:
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
// To use this package in your own module, first tell Go where the animalstore module is with
// `go mod edit -replace animalstore=FOLDER`. Then run `go get animalstore/client`.
//
// A [Client] is safe for concurrent use, so create one and share it. It has a method for every operation of
// the service except the deprecated GET /pets/{petId}, which [Client.GetPet] does not need. For example:
//
//	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable})
//	...
//	order, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID})
//
// # Lists
//
// Methods such as [Client.Pets], [Client.Orders] and [Client.Events] return iterators that fetch pages as
// needed. The loop can stop at any time. An error is always the last value that the loop receives. To fetch
// single pages with cursors, use [Client.ListPets] and similar methods. An item that does not change while a
// list is being read is returned exactly once, even if other items change.
//
// Many animals can be imported as a list with [Client.ImportPets] or as a file with [Client.ImportFile], and exported
// as a file with [Client.ExportFile]. To change animals, edit an exported file and import it with [Upsert].
//
// # Changes
//
// An update changes only the fields that are set. The fields are pointers, and nil means unchanged. With
// [IfMatch] and an animal's ETag, an update fails instead of overwriting a change that the caller has not
// seen. If several clients order the same animal at the same time, one of them gets it and the others get
// [CodePetNotAvailable].
//
// # Errors
//
// If the service rejects a request, the call returns an *[Error] with one of the codes below. Use [IsCode] to
// test for a code:
//
//	if client.IsCode(err, client.CodePetNotAvailable) {
//		...
//	}
//
// Any other error means that no response arrived or that nothing was sent. No response arrives if the
// connection fails or the context ends. Nothing is sent if an argument is invalid. If there was no response,
// or if its status is 500 or higher, the change may or may not have been made; see [MayBeDone].
//
// # Retries
//
// A failed call is retried a few times with increasing delays; see [WithRetries]. This happens when the
// connection fails, when the service or a proxy is overloaded, and while an earlier request with the same
// [IdempotencyKey] is still running. The statuses 429, 502, 503 and 504 mean that a server is overloaded, and
// the delay that Retry-After asks for is honoured.
//
// Retries are safe. Every POST request carries an idempotency key, so it takes effect only once no matter how
// often it is sent. Setting or deleting the same thing twice has the same effect as doing it once. If the
// response to a deletion is lost and the retry gets a 404, the call succeeds. However, a delayed attempt may
// still arrive after its retry and overwrite changes that were made later. [IfMatch] prevents this. A call
// never waits past the deadline of its context. Instead, it returns the error that it would have retried.
//
// A program that may be restarted in the middle of its work should choose its own [IdempotencyKey] for each
// POST request.
//
// # Events
//
// The service records every change as an event, in order and without gaps. [Client.Follow] returns an
// iterator that waits for new events and reconnects automatically:
//
//	for event, err := range c.Follow(ctx, last, client.EventFilter{}) {
//		...
//	}
//
// To continue after a restart, store the ID of the last event that was processed. To load the current state
// and then stay up to date, call [Client.LastEventID] first, then read the lists, and then follow the events
// after that id.
//
// # Webhooks
//
// A program that the service can reach over the network does not need to poll. Call [Client.CreateWebhook] to
// make the service send events to the program. The receiver needs no Client. It calls [VerifyWebhook], which
// checks that a message came from the service and returns the event in the message.
package client
