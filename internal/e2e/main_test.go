// Package e2e tests what can be tested only with real processes: kills, signals, several nodes on one database,
// failover, restarts under load, full disks, TLS and the network. It uses the program only through HTTP, signals and
// the command line.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"animalstore/internal/programtest"
)

func TestMain(m *testing.M) {
	// These tests spend most of their time waiting for processes, so more tests than processors can run at the same
	// time.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(6, runtime.GOMAXPROCS(0)))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programtest.Main(m)
}
