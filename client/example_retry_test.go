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

// A call whose response is lost is retried but takes effect only once.
func ExampleWithRetries() {
	shop, closeShop := serveExample() // a real service that runs in this process
	defer closeShop()

	ctx := context.Background()
	network := &badNetwork{} // a network that loses the first two responses
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

// badNetwork delivers the first two requests but loses their responses.
type badNetwork struct{ sent atomic.Int32 }

func (n *badNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if n.sent.Add(1) > 2 || err != nil {
		return response, err
	}
	response.Body.Close()
	return nil, errors.New("the connection broke")
}
