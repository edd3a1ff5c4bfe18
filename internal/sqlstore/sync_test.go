package sqlstore

import (
	"context"
	"fmt"
)

// writerEnv is the environment variable that makes the test program run runWriter on the named file.
const writerEnv = "SQLSTORE_TEST_WRITER"

// runWriter writes to a store ten times. It acknowledges each write on standard output, as a service
// acknowledges a write with its response.
func runWriter(path string) error {
	store, err := Open(context.Background(), path, Options{Exclusive: true})
	if err != nil {
		return err
	}
	for i := range 10 {
		if err := store.Write(context.Background(), adding(fmt.Sprint(i))); err != nil {
			return err
		}
		fmt.Println(i)
	}
	return store.Close()
}
