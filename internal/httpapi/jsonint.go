package httpapi

import (
	"strconv"
	"strings"
)

// parseJSONInt64 parses a JSON number that is a 64-bit integer in any notation: 7, 7.0, 70e-1. It does not
// use floating point, which would round large integers, and it does not expand exponents, so that
// 1e999999999 costs nothing.
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
		return 0, false // an exponent that large is far beyond 64 bits
	}
	// The value is digits × 10^shift, where digits has no trailing zeros.
	shift := exponent - len(fraction) + len(digits)
	digits = strings.TrimRight(digits, "0")
	shift -= len(digits)
	const maxDigits = 19 // of an int64
	if shift < 0 || shift > maxDigits || len(digits)+shift > maxDigits {
		return 0, false
	}
	text := digits + strings.Repeat("0", shift)
	if negative {
		text = "-" + text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
