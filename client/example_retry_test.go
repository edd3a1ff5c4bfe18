package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"sync/atomic"

	"animalstore/client"
)

// A call is sent again where its answer is lost, and happens once all the same.
func ExampleWithRetries() {
	shop, closeShop := serveExample() // a real service, in this process
	defer closeShop()

	ctx := context.Background()
	network := &badNetwork{} // loses the first two answers
	c, err := client.New(shop.URL, shop.Key, client.WithRetries(5), client.WithHTTPClient(&http.Client{Transport: network}))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 1, Status: client.PetAvailable}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent", network.sent.Load(), "times")
	inventory, err := c.Inventory(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(inventory.Available, "animal")
	// Output:
	// sent 3 times
	// 1 animal
}

// badNetwork takes the first two requests where they should go, and loses the answers on the way back.
type badNetwork struct{ sent atomic.Int32 }

func (n *badNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(request)
	if n.sent.Add(1) > 2 || err != nil {
		return answer, err
	}
	answer.Body.Close()
	return nil, errors.New("the connection broke")
}
