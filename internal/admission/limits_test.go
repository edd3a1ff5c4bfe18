package admission

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// SECURITY.md contains the table of all limits.
func TestSecurityQuotesTheLimits(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| on a node, at the same time | in all | of one key | waiting | of one key |\n|---|---|---|---|---|\n")
	for _, limit := range table {
		total, perKey := number(limit.Total), number(limit.PerKey)
		if limit.Size != "" {
			total, perKey = limit.Size, "half of them"
		}
		fmt.Fprintf(&want, "| %s | %s | %s | %s | %s |\n", limit.Operations, total, perKey, number(limit.Queue), number(limit.KeyQueue))
	}
	fmt.Fprintf(&want, "\n| how often | per second | at once |\n|---|---|---|\n"+
		"| requests of one key | `--rate-limit` | %d times `--rate-limit` |\n"+
		"| sign-in links from one network address that do not work | %d | %d |\n"+
		"| requests that a client resets on one HTTP/2 connection, if they are more than half of its requests | %d | %d |\n"+
		"| parts of responses under 1 KiB that the window of an HTTP/2 client causes | %d | %d |\n"+
		"| lines of the log about requests without a valid key, for each status | %d | %d |\n",
		burstSeconds, failuresPerSecond, maxFailures, Resets.PerSecond, Resets.AtOnce, SmallFrames.PerSecond, SmallFrames.AtOnce,
		StrangerLines.Lines, StrangerLines.Lines)
	fmt.Fprintf(&want, "\n| an image that is sent as a photo | at most |\n|---|---|\n"+
		"| the file | %s |\n"+
		"| width and height, in pixels | %s |\n"+
		"| megapixels | %d |\n"+
		"| scans of a JPEG file | %d |\n"+
		"| memory for decoding; beyond the total above, it is decoded alone | %s |\n"+
		"| a colour profile that is kept | %d Ki |\n",
		number(MaxPhotoBytes), number(MaxPhotoSide), MaxPhotoPixels/1_000_000, MaxPhotoScans, number(MaxPhotoMemory), MaxPhotoProfile>>10)
	if !strings.Contains(string(content), want.String()) {
		t.Errorf("SECURITY.md must contain this table:\n%s", want.String())
	}
}

// number formats a number for the table.
func number(n int) string {
	switch {
	case n == 0:
		return "–"
	case n == Unlimited:
		return "no limit"
	case n >= 1<<20:
		return fmt.Sprint(n>>20, " Mi")
	case n >= 1000:
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return fmt.Sprint(n)
}

// On a node with few connections, a key cannot use nearly all of them.
func TestKeyGetsAThirdOfTheConnections(t *testing.T) {
	t.Parallel()
	for connections, want := range map[int]int{1: 16, 48: 16, 100: 33, 1000: 333, 100_000: 333} {
		if got := Requests.Limit().ForConnections(connections); got.PerKey != want || got.Total != 1024 {
			t.Errorf("%d connections: got %+v, want %d requests of one key", connections, got, want)
		}
	}
}
