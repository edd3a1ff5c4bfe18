package httpapi

import (
	"strconv"
	"strings"
)

// parseJSONInt64 reads a JSON number that is an integer of 64 bits, however it is written: 7, 7.0, 70e-1. It never goes
// through a float, so that every integer is exact, and never writes a number out, so that 1e999999999 costs nothing.
func parseJSONInt64(literal string) (int64, bool) {
	mantissa, exponentText := literal, "0"
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponentText = literal[:i], literal[i+1:]
	}
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, true
	}
	exponent, err := strconv.Atoi(exponentText)
	if err != nil {
		return 0, false // beyond what an int holds, and so far beyond 64 bits
	}
	// The value is digits × 10^shift, with no zero at the end of digits.
	shift := exponent - len(fraction) + len(digits)
	digits = strings.TrimRight(digits, "0")
	shift -= len(digits)
	const mostDigits = 19 // of an int64
	if shift < 0 || shift > mostDigits || len(digits)+shift > mostDigits {
		return 0, false
	}
	text := digits + strings.Repeat("0", shift)
	if negative {
		text = "-" + text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
