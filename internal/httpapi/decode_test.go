package httpapi

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A body is read to its end, which comes where it was said to come.
func TestReadExactly(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	for _, c := range []struct {
		body   io.Reader
		length int
		ok     bool
	}{
		{strings.NewReader(""), 0, true},
		{strings.NewReader("abc"), 3, true},
		{iotest.OneByteReader(strings.NewReader("abc")), 3, true},
		{iotest.DataErrReader(strings.NewReader("abc")), 3, true},
		{strings.NewReader("abcd"), 3, false},
		{strings.NewReader("x"), 0, false},
		{strings.NewReader("ab"), 3, false},
		{strings.NewReader(""), 3, false},
		{io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(lost)), 3, false},
		{io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(lost)), 3, false},
	} {
		got, err := readExactly(c.body, c.length)
		if (err == nil) != c.ok || err == nil && len(got) != c.length {
			t.Errorf("of %d bytes %q was read: %v", c.length, got, err)
		}
	}
}
