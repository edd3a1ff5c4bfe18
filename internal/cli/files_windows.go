package cli

import "math"

// openFiles is how many files and connections this process may have open: no number is set.
func openFiles() int { return math.MaxInt32 }
