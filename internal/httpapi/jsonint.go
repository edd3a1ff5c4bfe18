package httpapi

import (
	"strconv"
	"strings"
)

// parseJSONInt64 parses a JSON number that is a 64-bit integer in any notation, such as 7, 7.0 or 70e-1.
// It does not use floating point because that would round large integers. It does not expand exponents, so
// a number such as 1e999999999 costs nothing.
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
		return 0, false // such a large exponent is far outside the 64-bit range
	}
	// The value is digits × 10^shift. The digits have no trailing zeros.
	shift := exponent - len(fraction) + len(digits)
	digits = strings.TrimRight(digits, "0")
	shift -= len(digits)
	const maxDigits = 19 // the maximum number of digits in an int64
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
