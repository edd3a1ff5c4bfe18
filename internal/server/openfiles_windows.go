package server

import "math"

// maxOpenFiles returns how many files and connections this process may have open. Windows has no such limit.
func maxOpenFiles() int { return math.MaxInt32 }
