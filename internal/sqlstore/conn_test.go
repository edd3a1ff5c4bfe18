package sqlstore

import (
	"testing"
	"time"
)

// What no column holds is refused, and the connection is as good as before.
func TestValuesThatAreNone(t *testing.T) {
	t.Parallel()
	c := sqliteOf(openNew(t)).writer.conn
	for name, args := range map[string][]any{
		"a time": {time.Now()}, "a bool": {true}, "a float": {1.5}, "a channel": {make(chan int)}, "too few": {}, "too many": {1, 2},
	} {
		if err := c.exec(t.Context(), "SELECT $1", args); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := c.exec(t.Context(), "SELECT $1", []any{int32(1)}); err != nil {
		t.Errorf("after that: %v", err)
	}
}
