// Package client calls an animalstore service: a catalogue of animals, each of which is a stock of one.
//
// A first program, which lists what can be sold. The key comes from `animalstore keys create`, or from the first start of the
// service on a terminal:
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
// In a module of your own, say first where this one is: `go mod edit -replace animalstore=FOLDER`, then `go get animalstore/client`.
//
// Make one [Client] and share it; it is safe for concurrent use. There is a method for every operation of the service, but for the
// deprecated one, which [Client.GetPet] does without:
//
//	pet, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable})
//	...
//	order, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID})
//
// # Lists
//
// A list is an iterator that gets its pages as they are needed, such as [Client.Pets], [Client.Orders] and [Client.Events]. The
// loop can end at any time; an error is the last thing that it gets. A program that shows pages itself gets one at a time, with
// the cursor of the next, from [Client.ListPets] and the like. What stands unchanged while a list is walked is there exactly once,
// whatever else comes and goes.
//
// Many animals at once come and go as a list ([Client.ImportPets]) or as files ([Client.ImportFile], [Client.ExportFile]).
//
// # Changes
//
// An update changes only what it names: its members are pointers, and what is nil stays. Two who change the same animal at the
// same time do not undo each other's work where they say what they have seen, with [IfMatch] and the animal's ETag. Of
// any number who order one animal at once, one gets it, and the others [CodePetNotAvailable].
//
// # Errors
//
// What the service refuses is an *[Error] with one of the codes that stand below; [IsCode] asks for one:
//
//	if client.IsCode(err, client.CodePetNotAvailable) {
//		...
//	}
//
// Every other error means that no answer came, because the connection failed or the context ended, or that nothing was sent,
// because an argument was wrong. After an error without an answer, and after a status of 500 or more, it is not known whether a
// change was made.
//
// # Repeats
//
// Calls repeat themselves, a few times and further and further apart ([WithRetries]), where the connection fails, where the
// service has too much to do (429, 502, 503, 504; Retry-After is honoured), and where the first request of the same
// [IdempotencyKey] still runs. That is safe: every POST carries an idempotency key, so that however often it is sent
// it happens once, and to set or to remove the same thing again changes nothing. A removal whose answer was lost, and
// whose repeat finds nothing to remove, counts as done. An attempt that was held up on its way may still arrive after its
// repeat, and after what was changed since, which it then undoes: [IfMatch] keeps it from that. A call never waits past the
// deadline of its context; it then returns the error that it would have waited for.
//
// A program that may be stopped and started again in the middle of its work gives its own name to each POST, with
// [IdempotencyKey].
//
// # Events
//
// The service tells of every change, in order and without a gap. [Client.Follow] is an iterator that goes on with what happens, and
// connects again by itself:
//
//	for event, err := range c.Follow(ctx, last, client.EventFilter{}) {
//		...
//	}
//
// Keep the ID of the last event that was dealt with, and go on from there after a restart. To know all that there is and stay up
// to date, take [Client.LastEventID] first, then read the lists, then follow from that id.
//
// # Webhooks
//
// A program that others can reach need not ask: [Client.CreateWebhook] has events sent to it. It needs no Client then;
// [VerifyWebhook] checks that a message came from the service, and returns its event.
package client
