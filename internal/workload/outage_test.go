package workload

import (
	"testing"
	"time"
)

func TestLongestPause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		times    []time.Duration
		from, to time.Duration
		want     time.Duration
	}{
		{nil, 10, 30, 20},
		{[]time.Duration{29, 12, 14}, 10, 30, 15},
		{[]time.Duration{12, 14}, 10, 30, 16},
		{[]time.Duration{25}, 10, 30, 15},
		{[]time.Duration{1, 9, 11, 20, 31, 99}, 10, 30, 10},
	} {
		if got := longestPause(test.times, test.from, test.to); got != test.want {
			t.Errorf("between %d and %d with %v: got %d, want %d", test.from, test.to, test.times, got, test.want)
		}
	}
}
