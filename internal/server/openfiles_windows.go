package server

import "math"

// maxOpenFiles returns the maximum number of files and connections that this process can open. Windows has no
// such limit.
func maxOpenFiles() int { return math.MaxInt32 }
