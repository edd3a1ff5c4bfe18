// Package leaktest checks that tests leave no goroutines behind.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests in a package and exits. It fails if goroutines are still running after the tests.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Println("FAIL:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find returns an error if goroutines are still running. It gives them a minute to end, because goleak's
// default of half a second is too short on a busy machine.
func Find() error {
	for end := time.Now().Add(time.Minute); ; {
		if err := goleak.Find(); err == nil || time.Now().After(end) {
			return err
		}
	}
}
