// Package leaktest asks that tests leave nothing running.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests of a package and ends the process. It fails where a goroutine is left.
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

// Find returns an error where a goroutine is left. What is about to end has a minute for it: on a busy machine the half
// second of goleak's own is not enough.
func Find() error {
	for end := time.Now().Add(time.Minute); ; {
		if err := goleak.Find(); err == nil || time.Now().After(end) {
			return err
		}
	}
}
