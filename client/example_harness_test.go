package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"

	"animalstore/client"
	"animalstore/internal/httpapi"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/webhook"
)

// exampleShop is a running service that an example uses. Key is its admin key.
type exampleShop struct{ URL, Key string }

// serveExample starts a service, which runs until close is called.
func serveExample() (_ exampleShop, close func()) {
	folder, err := os.MkdirTemp("", "animalstore")
	check(err)
	s, err := shoptest.OpenAt(context.Background(), filepath.Join(folder, "test.db"), shop.Options{})
	check(err)
	api, err := httpapi.New(httpapi.Config{Service: s.Service, Log: slog.New(slog.DiscardHandler)})
	check(err)
	report := func(err error) { fmt.Println("The service has an error:", err) } // this output makes the example fail
	hooks := webhook.New(webhook.Config{Service: s.Service, AllowPrivate: true, Report: report})
	working, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { s.RunJobs(working, report) })
	work.Go(func() { hooks.Run(working) })
	server := httptest.NewServer(api)
	return exampleShop{server.URL + "/v1", shoptest.AdminKey}, func() {
		server.Close()
		stop()
		work.Wait()
		s.Store.Close()
		os.RemoveAll(folder)
	}
}

// exampleClient returns a client for a service that runs until close is called.
func exampleClient() (c *client.Client, close func()) {
	shop, close := serveExample()
	c, err := client.New(shop.URL, shop.Key)
	check(err)
	return c, close
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
