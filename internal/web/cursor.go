package web

import (
	"strings"

	"animalstore/internal/shop"
)

// A cursor encodes a position in a list, which is a signed 64-bit integer, as 13 digits in Crockford's
// base32. The sign bit is flipped so that cursors sort in the same order as their positions. Every text in
// this format is a valid cursor, even if there is no item at that position.
const (
	crockford    = "0123456789abcdefghjkmnpqrstvwxyz"
	cursorLength = 13
	signBit      = 1 << 63
)

// FormatCursor returns the cursor for a position.
func FormatCursor(position int64) string {
	n := uint64(position) ^ signBit
	var text [cursorLength]byte
	for i := cursorLength - 1; i >= 0; i-- {
		text[i] = crockford[n&31]
		n >>= 5
	}
	return string(text[:])
}

// ParseCursor returns the position of a cursor. It fails with invalid_cursor if the text is not one.
func ParseCursor(text string) (int64, error) {
	if len(text) != cursorLength || text[0] > 'f' { // the first digit encodes only four bits
		return 0, errInvalidCursor()
	}
	var n uint64
	for i := range cursorLength {
		digit := strings.IndexByte(crockford, text[i])
		if digit < 0 {
			return 0, errInvalidCursor()
		}
		n = n<<5 | uint64(digit)
	}
	return int64(n ^ signBit), nil
}

func errInvalidCursor() error {
	return shop.Errorf(shop.InvalidCursor, "The cursor is invalid; take it unchanged from the Link header of the previous page.")
}
