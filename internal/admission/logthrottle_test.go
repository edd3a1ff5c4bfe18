package admission

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/programtest"
)

// In each interval, only a few messages of each kind are logged, and then one that says how many were left out.
func TestRepeatedMessagesAreSuppressed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out programtest.Transcript
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		}}))
		var throttle LogThrottle
		for i := range 5 {
			for _, kind := range []string{"a", "b"} {
				throttle.Log(log, LogLimit{2, time.Minute}, slog.LevelWarn, kind, kind, "i", i)
			}
		}
		throttle.Log(log, LogLimit{2, time.Minute}, slog.LevelWarn, "c", "c")
		want := "msg=a i=0\nmsg=b i=0\nmsg=a i=1\nmsg=b i=1\nmsg=c\n"
		if time.Sleep(time.Minute - time.Nanosecond); out.String() != want {
			t.Errorf("during the interval, got\n%s\nwant\n%s", out.String(), want)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if _, rest, _ := strings.Cut(out.String(), want); len(rest) != len("msg=a i=2 suppressed=3\nmsg=b i=2 suppressed=3\n") ||
			!strings.Contains(rest, "msg=a i=2 suppressed=3\n") || !strings.Contains(rest, "msg=b i=2 suppressed=3\n") {
			t.Errorf("after the interval, got\n%s", rest)
		}
		before := out.String()
		for range 2 {
			throttle.Log(log, LogLimit{2, time.Minute}, slog.LevelWarn, "a", "a")
		}
		if got, want := strings.TrimPrefix(out.String(), before), "msg=a\nmsg=a\n"; got != want {
			t.Errorf("in the next interval, got\n%s\nwant\n%s", got, want)
		}
	})
}

// A throttle forgets old kinds of messages before they take too much memory.
func TestLogThrottleIsBounded(t *testing.T) {
	t.Parallel()
	var throttle LogThrottle
	for i := range 2*maxLogKinds + 1 {
		throttle.Log(slog.New(slog.DiscardHandler), LogLimit{1, time.Minute}, slog.LevelError, fmt.Sprint(i), "x")
	}
	if len(throttle.windows) > maxLogKinds {
		t.Errorf("the throttle remembers %d kinds", len(throttle.windows))
	}
}
