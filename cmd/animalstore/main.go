// Command animalstore manages the animals and orders of a pet shop.
package main

import (
	"os"

	"animalstore/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr))
}
