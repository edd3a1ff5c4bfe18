// Package e2e tests what only processes can show: kills, signals, several nodes on one database, failover,
// restarts under load, full disks, TLS and the network. It uses the real program only through HTTP, signals
// and the command line.
package e2e

import (
	"fmt"
	"os"
	"testing"

	"animalstore/internal/programtest"
)

// binary is the path of the program under test.
var binary string

func TestMain(m *testing.M) {
	var err error
	if binary, err = programtest.Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programtest.Main(m)
}
