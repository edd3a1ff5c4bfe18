// Package leaktest checks that tests leave no goroutines behind.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests of a package and exits. It fails if a goroutine is left.
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

// Find returns an error if a goroutine is left. Goroutines have a minute to end: on a busy machine goleak's
// default of half a second is too short.
func Find() error {
	for end := time.Now().Add(time.Minute); ; {
		if err := goleak.Find(); err == nil || time.Now().After(end) {
			return err
		}
	}
}
