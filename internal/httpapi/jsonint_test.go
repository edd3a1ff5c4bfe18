package httpapi

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Only exact integers in the 64-bit range are accepted, in any notation.
func TestParseJSONInt64(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]string{
		"-0": "0", "0e99999999999999999999": "0", "7": "7", "7.0": "7", "0.7e1": "7", "-70.00e-1": "-7",
		"9223372036854775807.0": "9223372036854775807", "-9223372036854775808": "-9223372036854775808",
		"9223372036854775808": "", "-9223372036854775809": "", "7.5": "", "1e-1": "", "1e9223372036854775807": "",
		"1e-9223372036854775808": "", "100000000000000000000e-20": "1", "0.1e99999999999999999999": "",
	} {
		got := ""
		if n, ok := parseJSONInt64(literal); ok {
			got = fmt.Sprint(n)
		}
		if got != want || !json.Valid([]byte(literal)) {
			t.Errorf("%s is %q, want %q", literal, got, want)
		}
	}
}
