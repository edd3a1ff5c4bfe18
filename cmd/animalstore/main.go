// Command animalstore keeps the catalogue of the animals held by a store.
package main

import (
	"os"

	"animalstore/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr))
}
