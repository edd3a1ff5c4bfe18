package cli

import (
	"io"
	"os"
)

// ANSI escape sequences.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
	reset  = "\x1b[0m"
)

// statusColors maps the statuses of animals and orders to their colors.
var statusColors = map[string]string{
	"available": green, "pending": yellow, "sold": dim,
	"placed": yellow, "approved": blue, "delivered": green, "cancelled": dim, "expired": dim,
}

// wantsColor reports whether output may be colored. It must go to a terminal that can show colors, and the
// environment variable NO_COLOR must not be set.
func wantsColor(out io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(out)
}
